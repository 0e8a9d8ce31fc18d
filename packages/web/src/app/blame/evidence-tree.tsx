import type { Probe } from '@retake/tape'
import { useState } from 'react'
import { PURPOSE_WORDS, count, plural } from '@retake/tape/present'
import { Badge } from '../design/badge.js'
import { Button } from '../design/button.js'
import { placed } from '../step/placed.js'
import type { BlameView } from './blame-view.js'
import { evidenceGroups, type EvidenceGroup } from './evidence-groups.js'
import { RateLine } from './rate-bar.js'

/** With few probes all are shown at once. */
const OPEN_MOST = 12
/** Probes shown of one kind, and more whenever more are wanted. */
const FIRST = 30
const MORE = 200

/** Every question that was put to forks, by what it was for, with what they said. */
export function EvidenceTree({ view }: { readonly view: BlameView }) {
  const { evidence } = view.findings
  const isOpen = evidence.length <= OPEN_MOST
  return (
    <ul aria-label="Evidence" className="flex flex-col gap-1">
      {evidenceGroups(evidence).map((group) => (
        <li key={group.purpose}>
          <details open={isOpen}>
            <summary>
              {PURPOSE_WORDS[group.purpose]}{' '}
              <span className="text-sm text-muted">
                {plural(group.probes.length, 'probe')}, {plural(group.forks, 'fork')}
              </span>
            </summary>
            <Probes view={view} group={group} />
          </details>
        </li>
      ))}
    </ul>
  )
}

function Probes({ view, group }: { readonly view: BlameView; readonly group: EvidenceGroup }) {
  const [most, setMost] = useState(FIRST)
  const left = group.probes.length - most
  return (
    <>
      <ul className="ml-1.5 border-l border-line pl-3">
        {placed(group.probes.slice(0, most)).map(({ place, it }) => (
          <li
            key={place}
            className="grid grid-cols-[minmax(0,1fr)_auto_6.5rem] items-center gap-x-3 py-0.5 @max-[560px]:grid-cols-1"
          >
            <span className="min-w-0 wrap-anywhere">
              <span className="text-muted">kept</span> {shortened(view.keptText(it.kept))}
            </span>
            <RateLine rate={it.rate} />
            <span className="flex flex-wrap gap-1">
              <Conclusion probe={it} />
            </span>
          </li>
        ))}
      </ul>
      {left > 0 && (
        <Button className="mt-1 ml-5" onClick={() => setMost(most + MORE)}>
          Show {count(Math.min(MORE, left))} more
        </Button>
      )}
    </>
  )
}

/** A coalition of many single steps is long; its beginning tells it from others, its forks tell the rest. */
const shortened = (text: string): string => (text.length > 240 ? `${text.slice(0, 240)}…` : text)

function Conclusion({ probe: { fails, undefinedForks, mode } }: { readonly probe: Probe }) {
  return (
    <>
      {fails === undefined ? (
        <Badge title="Not decided when the search ended.">open</Badge>
      ) : fails ? (
        <Badge tone="danger">fails</Badge>
      ) : (
        <Badge tone="good">passes</Badge>
      )}
      {mode === 'frozen' && <Badge title="Everything else was held as recorded.">frozen</Badge>}
      {undefinedForks > 0 && (
        <Badge tone="warning" title="Forks that came to no verdict: counted as neither.">
          {undefinedForks} undefined
        </Badge>
      )}
    </>
  )
}
