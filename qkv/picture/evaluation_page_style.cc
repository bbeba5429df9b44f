#include "qkv/picture/evaluation_page_parts.h"

namespace qkv {

const std::string_view evaluation_page_style = R"css(
:root {
  --page: #f6f7f9; --card: #fff; --ink: #1f2430; --soft: #667085; --line: #d9dde5; --accent: #2f4fb5;
  --other: #fde3d8; --other-ink: #8c2f14; --missed: #dbe7fb; --missed-ink: #1d3f8f;
  --shadow: 0 1px 2px rgba(16, 24, 40, .06), 0 4px 16px rgba(16, 24, 40, .05);
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12131a; --card: #1a1b26; --ink: #e6e8ef; --soft: #9aa1b2; --line: #34384a; --accent: #8fb4ff;
    --other: #4d2a20; --other-ink: #ffc0a8; --missed: #243656; --missed-ink: #b9d2ff; --shadow: none;
  }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body {
  margin: 0 auto; padding: 28px clamp(12px, 3vw, 44px) 48px; max-width: 1240px; background: var(--page);
  color: var(--ink); font: 14px/1.5 system-ui, "Helvetica Neue", "Noto Sans", "DejaVu Sans", sans-serif;
}
h1 { margin: 0 0 12px; font-size: 22px; line-height: 1.3; letter-spacing: -.01em; overflow-wrap: anywhere; }
.scores { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 18px 4px 0; text-align: left; white-space: nowrap; border-bottom: 1px solid var(--line); }
thead th { color: var(--soft); font-weight: 500; }
b { font-weight: 600; }
small { color: var(--soft); font-size: 12px; }
.bar {
  display: flex; flex-wrap: wrap; gap: 10px 18px; align-items: center; margin: 18px 0 14px; padding: 8px 0;
  position: sticky; top: 0; background: var(--page); z-index: 1;
}
.bar label { display: flex; gap: 7px; align-items: center; color: var(--soft); font-size: 12.5px; min-width: 0; }
select, input, button {
  font: inherit; font-size: 13px; color: var(--ink); background: var(--card); border: 1px solid var(--line);
  border-radius: 7px; padding: 4px 9px; min-width: 0; max-width: 100%;
}
button { cursor: pointer; color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.count { margin-left: auto; color: var(--soft); font-size: 12.5px; }
.sentence {
  margin-bottom: 12px; background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 10px 16px 12px; box-shadow: var(--shadow);
}
.row { display: grid; grid-template-columns: 150px minmax(0, 1fr) 160px; gap: 4px 14px; padding: 3px 0; }
.row .name { color: var(--soft); font-size: 12.5px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; padding-top: 1px; }
.row .text { overflow-wrap: anywhere; }
.row .score { color: var(--soft); font-size: 12.5px; text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.row .score b { color: var(--ink); }
.source .text { color: var(--soft); }
.reference { border-bottom: 1px solid var(--line); margin-bottom: 3px; padding-bottom: 5px; }
mark { background: var(--other); color: var(--other-ink); border-radius: 3px; padding: 0 2px; margin: 0 -2px; }
.reference mark { background: var(--missed); color: var(--missed-ink); }
.empty { color: var(--soft); font-style: italic; }
.key { color: var(--soft); font-size: 12.5px; margin: 0 0 14px; }
.key mark { margin: 0 1px; }
.key .missed { background: var(--missed); color: var(--missed-ink); }
.sentence > button { margin-top: 6px; }
iframe { display: block; width: 100%; height: 720px; margin-top: 10px; border: 1px solid var(--line); border-radius: 7px; }
.more { display: block; margin: 16px auto; padding: 7px 18px; }
@media (max-width: 700px) {
  .row { grid-template-columns: minmax(0, 1fr) auto; }
  .row .text { grid-column: 1 / -1; grid-row: 2; }
  .row .score { grid-column: 2; grid-row: 1; }
  .sentence { padding: 9px 12px 10px; }
  .bar { position: static; }
  .bar label { flex: 1 1 100%; }
  .bar label select, .bar label input { flex: 1; }
}
)css";

}  // namespace qkv
