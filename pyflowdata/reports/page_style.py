"""The style of the report page: light and dark, for phones, screens and paper.

The colours of a, b, c and d are told apart by people who are colour-blind (Okabe and Ito, 2008),
and differ in lightness.
"""

STYLE = """
:root{color-scheme:light dark;
--page:#fff;--card:#f6f7f9;--text:#1b1f24;--soft:#59636e;--line:#d5dae0;--rest:#e3e7ec;
--a:#0072b2;--b:#e08a00;--c:#009e73;--d:#b9568f;--bad:#b3480d;--good:#00775a}
@media (prefers-color-scheme:dark){:root{
--page:#0f1318;--card:#181d24;--text:#e6eaef;--soft:#9aa5b1;--line:#323a44;--rest:#2a313a;
--a:#56b4e9;--b:#f0a830;--c:#2fc39a;--d:#dc8fbb;--bad:#f0a070;--good:#4fd0aa}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:1120px;margin:0 auto;padding:20px 16px 40px}
h1{font-size:14px;font-weight:600;color:var(--soft);margin:0 0 12px;overflow-wrap:anywhere}
h2{font-size:18px;margin:36px 0 4px;break-after:avoid}
h3{font-size:15px;margin:18px 0 2px;break-after:avoid}
p{margin:4px 0 10px;max-width:90ch}
.soft,figcaption{color:var(--soft);font-size:13px}
.verdict{border:1px solid var(--line);border-left:6px solid var(--bad);border-radius:6px;
background:var(--card);padding:14px 18px;overflow-wrap:anywhere}
.verdict.good{border-left-color:var(--good)}
.verdict.unsure{border-left-color:var(--soft)}
.verdict p{font-size:19px;line-height:1.4;margin:0;font-weight:600}
.verdict ul{margin:10px 0 0;padding-left:20px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(122px,1fr));gap:10px;
  margin:14px 0 0}
.tile{border:1px solid var(--line);border-radius:6px;padding:8px 12px}
.tile b{display:block;font-size:20px;line-height:1.3;font-weight:600}
.tile span{color:var(--soft);font-size:13px}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:8px 40px}
figure{margin:10px 0 0;min-width:0;break-inside:avoid}
figcaption{margin-top:2px;max-width:110ch}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;margin:6px 0 0;padding:0;list-style:none;
  font-size:13px}
.legend svg{width:12px;height:12px;margin-right:6px;vertical-align:-1px}
svg.chart{display:block;overflow:visible;margin-left:56px;width:calc(100% - 66px)}
svg.wide{margin-left:92px;width:calc(100% - 102px)}
svg.lying{display:block}
svg text{font-size:12px;fill:var(--text)}
svg text.tick{fill:var(--soft)}
svg text.title{font-weight:600}
.grid{stroke:var(--line);stroke-width:1}
.axis{stroke:var(--soft);stroke-width:1}
.mark{stroke:var(--b);stroke-width:1;stroke-opacity:.4}
.rest{fill:var(--rest)}
.a{fill:var(--a)}.b{fill:var(--b)}.c{fill:var(--c)}.d{fill:var(--d)}.e{fill:var(--rest)}
.area{fill-opacity:.75}
.hover{fill:var(--text);fill-opacity:0}
.hover:hover{fill-opacity:.12}
.dots{stroke:var(--a);stroke-linecap:round;vector-effect:non-scaling-stroke;fill:none;
  stroke-opacity:.75}
.cell{fill:var(--a)}
.scroll{overflow-x:auto}
.shares{margin:0;padding:0;list-style:none}
.shares li{display:grid;grid-template-columns:minmax(0,270px) 1fr 58px;gap:0 16px;margin:5px 0;
  align-items:center;font-size:14px;break-inside:avoid}
.shares span:first-child{overflow-wrap:anywhere}
.shares span:last-child{text-align:right;color:var(--soft)}
table{border-collapse:collapse;width:100%;font-size:14px;margin:8px 0}
th,td{text-align:right;padding:5px 0 5px 14px;border-bottom:1px solid var(--line);
  vertical-align:top}
th{font-weight:600;color:var(--soft);font-size:13px;vertical-align:bottom}
th:first-child,td:first-child,.words th,.words td{text-align:left;padding-left:0;padding-right:14px}
td{font-variant-numeric:tabular-nums;white-space:nowrap}
td:first-child,.words td+td{white-space:normal;overflow-wrap:anywhere}
.words td:first-child{white-space:nowrap;width:1%}
code{font:13px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;overflow-wrap:anywhere}
@media screen and (max-width:720px){
.shares li{grid-template-columns:1fr 64px;margin:8px 0}
.shares svg{grid-row:2;grid-column:1/-1}
table,tbody,td{display:block}thead{display:none}
tr{display:grid;grid-template-columns:1fr 1fr;gap:0 28px;border-bottom:1px solid var(--line);
  padding:8px 0}
.words tr{grid-template-columns:100px minmax(0,1fr)}
td,.words td{border:0;padding:2px 0;text-align:left;display:flex;justify-content:space-between;
  gap:10px}
td:first-child{font-weight:600;grid-column:1/-1}
.words td:first-child{font-weight:400;color:var(--soft);grid-column:1;white-space:normal;width:auto}
td[data-of]::before{content:attr(data-of);color:var(--soft);font-weight:400;flex:none}
td>span{text-align:right;min-width:0}
td:first-child>span,.words td>span{text-align:left}
h2{margin-top:28px}.verdict p{font-size:17px}}
@media print{
:root{color-scheme:light;
--page:#fff;--card:#fff;--text:#000;--soft:#444;--line:#bbb;--rest:#e3e7ec;
--a:#0072b2;--b:#e08a00;--c:#009e73;--d:#b9568f;--bad:#b3480d;--good:#00775a}
body{font-size:12px}
main{max-width:none;padding:0}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}
.tile,.verdict,tr{break-inside:avoid}
}
""".lstrip()
