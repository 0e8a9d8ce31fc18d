/** A stretch of plain text, or a block of code that was fenced in it. */
export type TextBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'code'; readonly language: string; readonly text: string }

const OPENING = /^ {0,3}(`{3,}|~{3,})([^`\n]*)$/
const CLOSING = /^ {0,3}(`{3,}|~{3,})[ \t]*$/

/**
 * Finds blocks of code between lines of ``` or ~~~. Everything else stays text as it
 * is: this is no Markdown. A fence that is never closed reaches to the end.
 */
export function splitFences(text: string): TextBlock[] {
  if (!/```|~~~/.test(text)) return text === '' ? [] : [{ type: 'text', text }]
  const blocks: TextBlock[] = []
  let lines: string[] = []
  let fence: { readonly mark: string; readonly language: string } | undefined
  const close = (): void => {
    if (fence) blocks.push({ type: 'code', language: fence.language, text: lines.join('\n') })
    else if (lines.length > 0) blocks.push({ type: 'text', text: lines.join('\n') })
    lines = []
  }
  for (const line of text.split('\n')) {
    const bare = line.endsWith('\r') ? line.slice(0, -1) : line
    if (fence === undefined) {
      const opening = OPENING.exec(bare)
      if (opening === null) lines.push(line)
      else {
        close()
        fence = { mark: opening[1] ?? '', language: (opening[2] ?? '').trim() }
      }
      continue
    }
    const mark = CLOSING.exec(bare)?.[1]
    if (mark !== undefined && mark[0] === fence.mark[0] && mark.length >= fence.mark.length) {
      close()
      fence = undefined
    } else lines.push(line)
  }
  if (fence !== undefined || lines.length > 0) close()
  return blocks
}
