import { type DiffLine, diffLines, type LinePart, unmarked } from '@retake/tape/present'
import { useMemo, useState } from 'react'

interface TextDiffProps {
  readonly what: string
  readonly a: string
  readonly b: string
  readonly names: readonly [a: string, b: string]
  readonly missing?: 'a' | 'b' | undefined
}

/** Side by side; on a phone, one below the other. */
export function TextDiff({ what, a, b, names, missing }: TextDiffProps) {
  const lines = useMemo(() => linesOf(a, b, missing), [a, b, missing])
  const note = missing && `not in ${missing === 'a' ? names[0] : names[1]}`
  return <TextDiffView what={what} note={note} lines={lines} names={names} />
}

interface LineDiffProps extends Pick<TextDiffProps, 'what' | 'names'> {
  readonly lines: readonly DiffLine[]
  readonly note?: string | undefined
}

export function TextDiffView({ what, note, lines, names }: LineDiffProps) {
  const parts = useFolded(lines, ({ kind }) => kind === 'same', { margin: 3, least: 3 })
  return (
    <figure className="min-w-0 overflow-hidden rounded border border-line">
      <figcaption className="flex gap-2 border-b border-line bg-raised px-2 py-0.5 text-sm">
        <span className="min-w-0 truncate font-mono">{what}</span>
        {note !== undefined && <span className="text-muted">{note}</span>}
      </figcaption>
      <div className="font-mono text-sm">
        {parts.map((part) =>
          part.type === 'item' ? (
            <Line
              key={`${part.item.a?.number} ${part.item.b?.number}`}
              line={part.item}
              names={names}
            />
          ) : (
            <button
              key={`fold ${part.key}`}
              type="button"
              className="block w-full bg-sunken px-2 py-0.5 text-left text-muted hover:text-text"
              onClick={part.unfold}
            >
              {part.items.length} equal lines
            </button>
          ),
        )}
      </div>
    </figure>
  )
}

function linesOf(a: string, b: string, missing: 'a' | 'b' | undefined): readonly DiffLine[] {
  if (missing === undefined) return diffLines(a, b)
  const side = missing === 'a' ? 'b' : 'a'
  return (missing === 'a' ? b : a).split('\n').map((text, index) => ({
    kind: side === 'a' ? 'removed' : 'added',
    [side]: { number: index + 1, parts: [unmarked(text)] },
  }))
}

function Line({ line, names }: { readonly line: DiffLine } & Pick<TextDiffProps, 'names'>) {
  const isSame = line.kind === 'same'
  return (
    <div className="md:grid md:grid-cols-2">
      {line.a === undefined ? (
        <div className="hidden bg-raised md:block" />
      ) : (
        <Side side="a" line={line.a} isSame={isSame} name={names[0]} />
      )}
      {line.b === undefined ? (
        <div className="hidden border-l border-line bg-raised md:block" />
      ) : (
        <div
          className={isSame ? 'hidden border-l border-line md:block' : 'md:border-l md:border-line'}
        >
          <Side side="b" line={line.b} isSame={isSame} name={names[1]} />
        </div>
      )}
    </div>
  )
}

const LOOKS = {
  a: { sign: '−', line: 'bg-danger-soft', mark: 'text-danger underline decoration-2' },
  b: { sign: '+', line: 'bg-good-soft', mark: 'text-good underline decoration-2' },
} as const

interface SideProps {
  readonly side: 'a' | 'b'
  readonly line: { readonly number: number; readonly parts: readonly LinePart[] }
  readonly isSame: boolean
  readonly name: string
}

function Side({ side, line, isSame, name }: SideProps) {
  const look = LOOKS[side]
  const Mark = side === 'a' ? 'del' : 'ins'
  return (
    <div className={`flex h-full ${isSame ? '' : look.line}`}>
      <span aria-hidden="true" className="w-9 shrink-0 pr-1 text-right text-muted select-none">
        {line.number}
      </span>
      <span aria-hidden="true" className="w-4 shrink-0 select-none">
        {isSame ? '' : look.sign}
      </span>
      {!isSame && <span className="sr-only">{name}: </span>}
      <span className="min-w-0 flex-1 pr-2 break-words whitespace-pre-wrap [overflow-wrap:anywhere]">
        {line.parts.map(({ at, text, isChanged }) =>
          isChanged ? (
            <Mark key={at} className={look.mark}>
              {text}
            </Mark>
          ) : (
            <span key={at}>{text}</span>
          ),
        )}
      </span>
    </div>
  )
}

type FoldOptions = Parameters<typeof foldEqual>[2]

type Unfoldable<T> =
  | Extract<Folded<T>, { type: 'item' }>
  | (Extract<Folded<T>, { type: 'fold' }> & { readonly unfold: () => void })

export function useFolded<T>(
  items: readonly T[],
  isEqual: (item: T) => boolean,
  options: FoldOptions,
) {
  const [unfolded, setUnfolded] = useState<ReadonlySet<number>>(new Set())
  return foldEqual(items, isEqual, options).flatMap((part): readonly Unfoldable<T>[] => {
    if (part.type === 'item') return [part]
    if (unfolded.has(part.key)) return part.items.map((item) => ({ type: 'item' as const, item }))
    return [{ ...part, unfold: () => setUnfolded(new Set([...unfolded, part.key])) }]
  })
}

type Folded<T> =
  | { readonly type: 'item'; readonly item: T }
  | { readonly type: 'fold'; readonly items: readonly T[]; readonly key: number }

/**
 * Folds sequences of equal items, except for some next to a difference. `key` is the index of the
 * first item in a fold.
 */
export function foldEqual<T>(
  items: readonly T[],
  isEqual: (item: T) => boolean,
  { margin, least }: { readonly margin: number; readonly least: number },
): readonly Folded<T>[] {
  const out: Folded<T>[] = []
  let at = 0
  while (at < items.length) {
    const start = at
    while (at < items.length && isEqual(items[at] as T)) at++
    const from = start === 0 ? 0 : start + margin
    const to = at === items.length ? at : at - margin
    const isFolded = to - from >= least
    for (let index = start; index < (isFolded ? from : at); index++)
      out.push({ type: 'item', item: items[index] as T })
    if (isFolded) {
      out.push({ type: 'fold', items: items.slice(from, to), key: from })
      for (let position = to; position < at; position++)
        out.push({ type: 'item', item: items[position] as T })
    }
    if (at < items.length) out.push({ type: 'item', item: items[at++] as T })
  }
  return out
}
