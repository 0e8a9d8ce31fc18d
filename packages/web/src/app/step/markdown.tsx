import { Lexer, type MarkedToken, type Token, type Tokens } from 'marked'
import { memo, type ReactNode } from 'react'
import { indexed } from '../values/text-parts.js'
import { VisibleText } from '../values/text.js'

/** Maximum length of a text and of a paragraph. Parsing time is quadratic in the latter. */
const LENGTH_MAX = 30_000
const PART_MAX = 8000
/** Meaningless sequences of marks that are slow to parse. */
const TANGLED = /(?:[>*_[\]()`~!\\] ?){60}|(?:[-+] ){30}|(?:\d[.)] ){30}|^[ \t]{80}/m

/** The blocks of a text; undefined if the text is shown as it is. */
export function markdownTokens(text: string): readonly Token[] | undefined {
  if (text.length > LENGTH_MAX || TANGLED.test(text)) return undefined
  if (text.split(/\n\s*\n/).some(({ length }) => length > PART_MAX)) return undefined
  try {
    return new Lexer({ gfm: true }).lex(text)
  } catch {
    return undefined
  }
}

const WRAP = 'whitespace-pre-wrap wrap-anywhere'

/**
 * Renders Markdown. Nothing is parsed as HTML, nothing is loaded, and no text is omitted. Links are
 * not clickable, because a model or a tool wrote them; their address is shown.
 */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const tokens = markdownTokens(text)
  if (tokens === undefined)
    return (
      <div dir="auto" className={WRAP}>
        <VisibleText text={text} />
      </div>
    )
  return (
    <div dir="auto" className="flex flex-col gap-2">
      <Blocks tokens={tokens} />
    </div>
  )
})

const Blocks = ({ tokens }: { tokens: readonly Token[] }) =>
  indexed(tokens).map(({ index, item }) => <Block key={index} token={item as MarkedToken} />)

const HEADINGS = ['text-xl', 'text-lg', 'text-base']

function Block({ token }: { token: MarkedToken }): ReactNode {
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- other tokens are shown as written
  switch (token.type) {
    case 'space':
      return null
    case 'heading':
      return (
        <p className={`mt-1 font-semibold ${WRAP} ${HEADINGS[token.depth - 1] ?? 'text-base'}`}>
          <Inline tokens={token.tokens} />
        </p>
      )
    case 'code':
      return <CodeBlock language={token.lang ?? ''} text={token.text} />
    case 'blockquote':
      return (
        <blockquote className="flex flex-col gap-2 border-l-2 border-line-strong pl-3 text-muted">
          <Blocks tokens={token.tokens} />
        </blockquote>
      )
    case 'list':
      return <List list={token} />
    case 'table':
      return <Table table={token} />
    case 'hr':
      return <hr className="border-line" />
    case 'paragraph':
      return (
        <p className={WRAP}>
          <Inline tokens={token.tokens} />
        </p>
      )
    case 'text':
      return (
        <p className={WRAP}>
          {token.tokens === undefined ? (
            <VisibleText text={token.text} />
          ) : (
            <Inline tokens={token.tokens} />
          )}
        </p>
      )
    default:
      return (
        <p className={`text-muted ${WRAP}`}>
          <VisibleText text={token.raw.trimEnd()} />
        </p>
      )
  }
}

const CodeBlock = ({ language, text }: { language: string; text: string }) => (
  <figure className="rounded border border-line bg-sunken">
    {language !== '' && (
      <figcaption className="border-b border-line px-2 py-0.5 text-xs text-muted">
        <VisibleText text={language} />
      </figcaption>
    )}
    <pre className={`px-2 py-1.5 font-mono text-sm ${WRAP}`}>
      <VisibleText text={text} />
    </pre>
  </figure>
)

function List({ list }: { list: Tokens.List }) {
  const Box = list.ordered ? 'ol' : 'ul'
  return (
    <Box
      className={`flex flex-col gap-1 pl-5 ${list.ordered ? 'list-decimal' : 'list-disc'}`}
      start={list.ordered && list.start !== '' ? list.start : undefined}
    >
      {indexed(list.items).map(({ index, item }) => (
        <li key={index}>
          {item.task && (item.checked === true ? '☑ ' : '☐ ')}
          <div className={`flex flex-col gap-1 ${item.task ? 'inline-flex' : ''}`}>
            <Blocks tokens={item.tokens.filter(({ type }) => type !== 'checkbox')} />
          </div>
        </li>
      ))}
    </Box>
  )
}

const ALIGN = { left: 'text-left', right: 'text-right', center: 'text-center' } as const

function Table({ table: { header, rows } }: { table: Tokens.Table }) {
  const look = ({ align }: Tokens.TableCell): string =>
    `border border-line px-2 py-1 ${ALIGN[align ?? 'left']}`
  return (
    <div className="overflow-x-auto">
      <table className="border-collapse">
        <thead>
          <tr>
            {indexed(header).map(({ index, item }) => (
              <th key={index} className={`bg-raised font-semibold ${look(item)}`}>
                <Inline tokens={item.tokens} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {indexed(rows).map(({ index: row, item: cells }) => (
            <tr key={row}>
              {indexed(cells).map(({ index, item }) => (
                <td key={index} className={look(item)}>
                  <Inline tokens={item.tokens} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const Inline = ({ tokens }: { tokens: readonly Token[] }) =>
  indexed(tokens).map(({ index, item }) => <InlineToken key={index} token={item as MarkedToken} />)

function InlineToken({ token }: { token: MarkedToken }): ReactNode {
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- other tokens are shown as written
  switch (token.type) {
    case 'strong':
      return (
        <strong className="font-semibold">
          <Inline tokens={token.tokens} />
        </strong>
      )
    case 'em':
      return (
        <em>
          <Inline tokens={token.tokens} />
        </em>
      )
    case 'del':
      return (
        <del>
          <Inline tokens={token.tokens} />
        </del>
      )
    case 'codespan':
      return (
        <code className="rounded-sm bg-sunken px-1 font-mono text-[0.92em]">
          <VisibleText text={token.text} />
        </code>
      )
    case 'link':
    case 'image':
      return <Address token={token} />
    case 'br':
      return '\n'
    case 'escape':
      return <VisibleText text={token.text} />
    case 'text':
      return token.tokens === undefined ? (
        <VisibleText text={token.raw} />
      ) : (
        <Inline tokens={token.tokens} />
      )
    default:
      return <VisibleText text={token.raw} />
  }
}

function Address({ token }: { token: Tokens.Link | Tokens.Image }) {
  const { href, title, text } = token
  // A bare URL is its own text.
  if (token.type === 'link' && (text === href || `mailto:${text}` === href))
    return <VisibleText text={token.raw} className="underline decoration-line-strong" />
  return (
    <>
      {token.type === 'image' && <span className="text-muted">Image: </span>}
      <span className="underline decoration-line-strong">
        {token.type === 'link' ? <Inline tokens={token.tokens} /> : <VisibleText text={text} />}
      </span>
      <span className="font-mono text-sm text-muted">
        {' ('}
        <VisibleText text={title ? `${href} ${title}` : href} />)
      </span>
    </>
  )
}
