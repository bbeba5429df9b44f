#include "qkv/picture/page_parts.h"

namespace qkv {

const std::string_view page_style = R"css(
:root {
  --page: #f6f7f9; --card: #fff; --ink: #1f2430; --soft: #667085; --line: #d9dde5; --accent: #2f4fb5; --minus: #b5402f;
  --shadow: 0 1px 2px rgba(16, 24, 40, .06), 0 4px 16px rgba(16, 24, 40, .05);
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12131a; --card: #1a1b26; --ink: #e6e8ef; --soft: #9aa1b2; --line: #34384a; --accent: #8fb4ff;
    --minus: #ff9f85; --shadow: none;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 28px clamp(16px, 3vw, 44px) 48px; max-width: 1760px; background: var(--page);
  color: var(--ink); font: 14px/1.5 system-ui, "Helvetica Neue", "Noto Sans", "DejaVu Sans", sans-serif;
}
h1 { margin: 0; font-size: 22px; line-height: 1.3; letter-spacing: -.01em; }
h2 { margin: 0 0 10px; font-size: 14px; }
dl { display: flex; flex-wrap: wrap; gap: 2px 22px; margin: 6px 0 0; color: var(--soft); }
dl div { display: flex; gap: 7px; }
dd { margin: 0; color: var(--ink); }
main { display: grid; grid-template-columns: minmax(0, 1fr) minmax(440px, 47%); gap: 24px; margin-top: 22px; align-items: start; }
main.single { grid-template-columns: minmax(0, 1fr); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 16px 18px 18px; box-shadow: var(--shadow); }
.maps { display: grid; gap: 18px; }
.grid { display: grid; gap: 6px; justify-content: start; align-items: center; color: var(--soft); font-size: 11px; }
.grid .head { text-align: center; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.grid .layer { writing-mode: vertical-rl; transform: rotate(180deg); text-align: center; white-space: nowrap; }
.map { display: block; width: 100%; padding: 0; border: 1px solid var(--line); border-radius: 3px; background: none; cursor: pointer; line-height: 0; }
.map canvas { width: 100%; border-radius: 2px; image-rendering: pixelated; }
.map:hover { border-color: var(--soft); }
.map[aria-pressed=true] { border-color: var(--accent); box-shadow: 0 0 0 2px var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.detail { position: sticky; top: 16px; }
.bar { display: flex; flex-wrap: wrap; gap: 10px 18px; align-items: center; margin-bottom: 8px; }
.bar h2 { margin: 0; flex: 1 1 180px; }
.views { display: inline-flex; border: 1px solid var(--line); border-radius: 7px; overflow: hidden; }
.views button { border: 0; padding: 4px 12px; font: inherit; font-size: 12.5px; background: none; color: var(--soft); cursor: pointer; }
.views button[aria-pressed=true] { background: var(--accent); color: var(--card); }
label { color: var(--soft); font-size: 12.5px; cursor: pointer; white-space: nowrap; }
label input { vertical-align: -2px; margin: 0 5px 0 0; accent-color: var(--accent); }
output { display: block; min-height: 42px; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
output b { font-weight: 600; }
output .value { margin-left: 8px; color: var(--accent); font-weight: 600; }
output .hint { color: var(--soft); }
.stage { overflow: auto; max-height: calc(100vh - 190px); }
main.single .stage { max-height: none; }
.stage svg { display: block; margin: 0 auto; touch-action: pan-x pan-y; fill: var(--ink); }
.stage image { image-rendering: pixelated; }
.stage .frame { fill: none; stroke: var(--soft); stroke-opacity: .5; }
.stage .lattice { fill: none; stroke: var(--soft); stroke-opacity: .12; }
.stage .cross { fill: none; stroke: var(--accent); stroke-width: 1.5; }
.stage .dim { fill-opacity: .4; }
.stage .on { font-weight: 600; }
.stage .mark { fill-opacity: .35; }
.stage .weight { fill: var(--accent); font-variant-numeric: tabular-nums; }
.stage .ties { fill: none; }
.key { display: flex; align-items: center; gap: 8px; margin-top: 12px; color: var(--soft); font-size: 11.5px; font-variant-numeric: tabular-nums; }
.key i { flex: 0 1 180px; height: 9px; border-radius: 3px; border: 1px solid var(--line); }
.key span:last-child { margin-left: auto; }
@media (max-width: 1000px) {
  main { grid-template-columns: minmax(0, 1fr); }
  .detail { position: static; order: -1; }
}
)css";

}  // namespace qkv
