"""The diagrams of the chapters, doc/learn/picture/*.svg.

python3 doc/learn/diagrams.py            # draws them again
python3 doc/learn/diagrams.py --check    # names those that differ
"""

import pathlib
import sys

import diagrams_of_attention
import diagrams_of_models
import diagrams_of_patterns

FOLDER = pathlib.Path(__file__).resolve().parent / "picture"
DIAGRAMS = diagrams_of_attention.DIAGRAMS | diagrams_of_patterns.DIAGRAMS | diagrams_of_models.DIAGRAMS


def main():
    checking = "--check" in sys.argv[1:]
    failed = (
        [path.name for path in FOLDER.glob("*.svg") if path.stem not in DIAGRAMS and "_weights" not in path.stem]
        if checking
        else []
    )
    FOLDER.mkdir(exist_ok=True)
    for name, drawn in DIAGRAMS.items():
        path, text = FOLDER / f"{name}.svg", drawn().svg()
        if not checking:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            failed.append(path.name)
    if failed:
        sys.exit(f"diagrams: not what doc/learn/diagrams.py draws: {', '.join(failed)}")


if __name__ == "__main__":
    main()
