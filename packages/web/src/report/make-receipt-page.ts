import { built, dataBlock, inlineJson, inlineScript, policy } from './make-report.js'
import { type NamedKey, RECEIPT_BLOCKS } from './receipt-blocks.js'

const STYLE = `body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
#drop{display:block;border:2px dashed;border-radius:8px;padding:1.5rem;text-align:center;margin:1rem 0}
#drop.over{background:Highlight;color:HighlightText}
h2{font-size:1rem;margin:1.2rem 0 .3rem;overflow-wrap:anywhere}
dl{display:grid;grid-template-columns:6rem 1fr;margin:0;gap:.1rem .5rem}
dd{margin:0;white-space:pre-wrap;overflow-wrap:anywhere;font-family:ui-monospace,monospace;font-size:13px}
[data-ok=true] h2:first-child::before{content:"✓ "}
[data-ok=false] h2:first-child::before{content:"✗ "}`

/**
 * A page that verifies receipts offline. It can contain a receipt, but then the reader has to trust the
 * author of the page. It is safer to open one's own page and drop the receipt on it.
 */
export function makeReceiptPage({
  receipt,
  keys = [],
}: {
  readonly receipt?: string
  readonly keys?: readonly NamedKey[]
}): string {
  const script = inlineScript(built('receipt.js'))
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="${policy(script, STYLE)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>Retake receipt</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<h1>Receipt</h1>
<label id="drop">Drop a receipt here, or choose a file: <input type="file" id="file"></label>
<div id="result" role="status"></div>
<p>Nothing is sent anywhere. Labels of steps and the choice of events are the word of whoever issued
the receipt; everything else is proven by hashes and signatures. A page that somebody gave you with the receipt can
say anything: <code>retake receipt check --page check.html</code> makes your own.</p>
<noscript>Checking needs JavaScript.</noscript>
${dataBlock(RECEIPT_BLOCKS.receipt, 'application/json', inlineJson(receipt ?? null))}
${dataBlock(RECEIPT_BLOCKS.keys, 'application/json', inlineJson(keys.map(({ name, key }) => ({ name, key }))))}
<script>${script}</script>
</body>
</html>
`
}
