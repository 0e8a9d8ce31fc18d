import { createHash } from 'node:crypto'

/**
 * The style sheet of the pages. Its colours, fonts and sizes are variables of the viewer's style
 * sheet, which every page loads first.
 */
export const STYLE = `
:root { --gap: 1rem }
body { display: flex; flex-direction: column; min-height: 100dvh }
a { color: var(--accent) }
a:hover { text-decoration: underline }
h1 { font-size: 1.125rem; font-weight: 600; margin: 0 }
h2 { font-size: .9375rem; font-weight: 600; margin: 0 0 .5rem }
p { margin: 0 0 .75rem; max-width: 46rem }
code, pre, .mono { font-family: ui-monospace, 'SF Mono', SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; font-size: .75rem }
pre { overflow: auto; background: var(--sunken); border-radius: .25rem; padding: .5rem; margin: 0 0 .75rem; white-space: pre-wrap; overflow-wrap: anywhere }
time { white-space: nowrap }

.after, table + p, .scroll + .stack, p + h2, details + h2 { margin-top: 1rem }
.narrow h1 { margin-bottom: .75rem }
.muted { color: var(--muted) }
.danger { color: var(--danger) }
.good { color: var(--good) }
.warning { color: var(--warning) }
.small { font-size: .75rem }
.clip { display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; min-width: 0 }

.skip { position: absolute; left: -999px }
.skip:focus { left: .25rem; top: .25rem; background: var(--surface); padding: .25rem .75rem; border: 1px solid var(--accent); border-radius: .25rem; z-index: 1 }
header.top { display: flex; flex-wrap: wrap; align-items: center; column-gap: .75rem; min-height: 2.5rem; padding: 0 .75rem; background: var(--raised); border-bottom: 1px solid var(--line) }
.crumbs { flex: 1; min-width: 0 }
.crumbs ol { display: flex; align-items: center; gap: .375rem; height: 2.5rem; white-space: nowrap; list-style: none; margin: 0; padding: 0 }
.crumbs li { display: flex; gap: .375rem; min-width: 0; overflow: hidden; text-overflow: ellipsis }
.crumbs li:first-child { font-weight: 600; flex-shrink: 0 }
.crumbs a { color: var(--muted); text-decoration: none; overflow: hidden; text-overflow: ellipsis }
.crumbs li:first-child a { color: var(--text) }
.crumbs a:hover { color: var(--accent) }
.crumbs li + li::before { content: '›'; color: var(--muted) }
.crumbs [aria-current] { overflow: hidden; text-overflow: ellipsis }
.who { display: flex; align-items: center; gap: .5rem; color: var(--muted) }
.who .mail { max-width: 14rem }
nav.tabs { display: flex; flex-wrap: wrap; gap: 0 .25rem; padding: 0 .5rem; border-bottom: 1px solid var(--line) }
nav.tabs a { padding: .5rem; color: var(--muted); text-decoration: none; white-space: nowrap; border-bottom: 2px solid transparent }
nav.tabs a:hover { color: var(--text) }
nav.tabs a[aria-current] { color: var(--text); border-bottom-color: var(--accent) }

main { flex: 1; width: 100%; max-width: 76rem; margin: 0 auto; padding: 1.25rem .75rem 3rem; box-sizing: border-box }
main.narrow { max-width: 27rem; padding-top: 12vh }
main > section, #live > section { margin: 0 0 2rem }
.head { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: .5rem 1rem; margin: 0 0 1rem }
.row { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem }
.note { border-left: 3px solid var(--good); background: var(--good-soft); padding: .5rem .75rem; margin: 0 0 1rem; border-radius: 0 .25rem .25rem 0; max-width: none }
.note.bad { border-color: var(--danger); background: var(--danger-soft) }
.note.warn { border-color: var(--warning); background: var(--warning-soft) }
.empty { border: 1px dashed var(--line-strong); border-radius: .375rem; padding: 1.5rem; color: var(--muted); max-width: none }

.stack { display: grid; gap: .75rem; max-width: 30rem }
.stack > button { justify-self: start }
.narrow .stack > button { justify-self: stretch }
form.inline { display: inline }
.line { display: flex; flex-wrap: wrap; align-items: end; gap: .5rem .75rem }
label { display: grid; gap: .25rem; font-weight: 500 }
label.check { display: flex; min-height: 1.75rem; align-items: center; gap: .375rem; font-weight: 400 }
fieldset { border: 0; margin: 0; padding: 0 }
legend { padding: 0; font-weight: 500; margin-bottom: .25rem }
.hint { color: var(--muted); font-weight: 400; font-size: .75rem }
input:not([type=checkbox], [type=radio]), select, textarea { font: inherit; color: var(--text); background: var(--surface); border: 1px solid var(--line-field); border-radius: .25rem; padding: .3rem .5rem; min-height: 1.875rem; box-sizing: border-box; min-width: 0 }
.stack input:not([type=checkbox], [type=radio]), .stack select, textarea { width: 100% }
textarea { min-height: 5rem; resize: vertical }
button, .button { display: inline-flex; align-items: center; justify-content: center; gap: .375rem; font: inherit; min-height: 1.875rem; padding: 0 .75rem; border: 1px solid var(--line-strong); border-radius: .25rem; background: var(--surface); color: var(--text); white-space: nowrap; text-decoration: none; box-sizing: border-box }
button:hover, .button:hover { background: var(--raised); text-decoration: none }
.primary { background: var(--accent); color: var(--on-accent); border-color: var(--accent) }
.primary:hover { background: var(--accent); filter: brightness(1.08) }
button.remove { color: var(--danger); border-color: var(--danger) }
button.remove:hover { background: var(--danger-soft) }
button.plain { border-color: transparent; background: none; color: var(--muted); padding: 0 .375rem }
button.plain:hover { color: var(--text); background: var(--sunken) }
:is(button, .button):focus-visible { outline-offset: 2px }

.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: .375rem }
table { width: 100%; border-collapse: collapse }
th, td { text-align: left; padding: .5rem .75rem; vertical-align: top; border-bottom: 1px solid var(--line) }
tr:last-child > td { border-bottom: 0 }
th { font-weight: 500; color: var(--muted); font-size: .75rem; background: var(--raised); white-space: nowrap }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
td.actions { text-align: right; white-space: nowrap }

.badge { display: inline-block; border-radius: .25rem; padding: 0 .375rem; font-size: .75rem; line-height: 1.25rem; background: var(--sunken); color: var(--muted); white-space: nowrap; text-decoration: none }
.badge.good { background: var(--good-soft); color: var(--good) }
.badge.danger { background: var(--danger-soft); color: var(--danger) }
.badge.warning { background: var(--warning-soft); color: var(--warning) }
.badge.accent { background: var(--accent-soft); color: var(--accent) }

.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: .75rem; list-style: none; padding: 0; margin: 0 }
.card { display: block; border: 1px solid var(--line); border-radius: .375rem; padding: .75rem; color: var(--text); text-decoration: none; min-width: 0 }
a.card:hover { border-color: var(--accent); text-decoration: none }
.card b { display: block; font-weight: 600 }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(12rem, 1fr)); gap: .75rem }
.figures h2 { font-size: .75rem; font-weight: 500; color: var(--muted); margin: 0 }
.figures .value { font-size: 1.375rem; font-weight: 600; font-variant-numeric: tabular-nums; line-height: 1.4 }
.figures .card { display: flex; flex-direction: column }
.figures svg { display: block; width: 100%; height: 3rem; margin-top: auto; padding-top: .375rem; overflow: visible; flex-shrink: 0 }
.two { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 0 1.5rem; align-items: start }
.two > *, .two section { min-width: 0; margin-bottom: 1.75rem }

ul.runs { list-style: none; margin: 0; padding: 0; border: 1px solid var(--line); border-radius: .375rem }
ul.runs > li { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: .125rem 1rem; padding: .5rem .75rem; border-bottom: 1px solid var(--line) }
ul.runs > li:last-child { border-bottom: 0 }
ul.runs > li:hover { background: var(--raised) }
ul.runs .name { font-weight: 500; overflow-wrap: anywhere }
ul.runs .facts { text-align: right; color: var(--muted); font-size: .75rem; font-variant-numeric: tabular-nums; white-space: nowrap }
.search { display: flex; flex-wrap: wrap; gap: .5rem; margin: 0 0 .75rem }
.search input { flex: 1 1 14rem }
details > summary { color: var(--muted) }
details[open] > summary { margin-bottom: .5rem }
main > details + details { margin-top: 1rem }
main > details > .muted { margin-top: .75rem }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .25rem 1rem; margin: 0 0 1rem }
dt { color: var(--muted) }
dd { margin: 0; overflow-wrap: anywhere }
.comment { border: 1px solid var(--line); border-radius: .375rem; margin: 0 0 .75rem }
.comment header { align-items: center; display: flex; flex-wrap: wrap; gap: .25rem .75rem; padding: .375rem .75rem; background: var(--raised); border-bottom: 1px solid var(--line); font-size: .75rem; border-radius: .375rem .375rem 0 0 }
.comment > p { padding: .5rem .75rem; margin: 0; white-space: pre-wrap; overflow-wrap: anywhere }
.comment > .inside { padding: .75rem }
.comment > pre { margin: 0 .75rem .75rem }
.secret { display: block; padding: .5rem .75rem; background: var(--sunken); border-radius: .25rem; overflow-wrap: anywhere; user-select: all }

@media (max-width: 40rem) {
  .who .mail { display: none }
  .crumbs li:not(:first-child, :last-child, :nth-last-child(2)) { display: none }
  ul.runs > li { grid-template-columns: minmax(0, 1fr) }
  ul.runs .facts { text-align: left; white-space: normal }
  main.narrow { padding-top: 2rem }
  button, .button, input:not([type=checkbox], [type=radio]), select { min-height: 2.25rem }
}
`

/** Contains a hash of the content, so that browsers may cache it forever. */
export const STYLE_NAME = `pages-${createHash('sha256').update(STYLE).digest('hex').slice(0, 8)}.css`
