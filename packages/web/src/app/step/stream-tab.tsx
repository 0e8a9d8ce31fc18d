import { duration, plural } from '@retake/tape/present'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { StreamFrames } from '../../model/step-detail.js'
import { useCommands } from '../commands/commands.js'
import { Button } from '../design/button.js'
import { Choice } from '../design/fields.js'
import { QueryNote } from '../design/notes.js'
import { Section, type TabProps } from './field.js'
import { MessageView } from './message-view.js'
import { frameAt, type Speed, SPEEDS, usePlayback } from './playback.js'
import { indexed } from './text-parts.js'

export function StreamTab({ run, detail }: TabProps) {
  const stream = useQuery({
    queryKey: ['stream', run.id, detail.label, detail.answeredSeq],
    queryFn: async () => (await run.source.stream(detail.label)) ?? null,
  })
  if (stream.data === undefined) return <QueryNote what="the stream" error={stream.error} />
  if (stream.data === null || stream.data.frames.length === 0)
    return <p className="p-3 text-muted">The answer was not streamed.</p>
  return <Player key={detail.label} stream={stream.data} firstMs={detail.timeToFirstChunkMs} />
}

const NO_PAIRS = { results: new Map(), calls: new Map() }

function Player({ stream, firstMs }: { stream: StreamFrames; firstMs: number | undefined }) {
  const { frames, chunks } = stream
  const endMs = frames.at(-1)?.at ?? 0
  const { position, isPlaying, speed, setSpeed, toggle, scrub } = usePlayback(endMs)
  const current = frameAt(frames, position)
  useCommands((add) => {
    add('Look', 'step.play', isPlaying ? 'Pause the stream' : 'Play the stream', [' '], toggle)
  })
  const times = useMemo(() => frames.map(({ at }) => at), [frames])
  const answer = frames[current]?.answer
  return (
    <div className="flex flex-col gap-3 p-3">
      <div className="flex flex-wrap items-center gap-3">
        <Button onClick={toggle} className="w-16 justify-center">
          {isPlaying ? 'Pause' : 'Play'}
        </Button>
        <Choice
          label="Speed"
          value={speed}
          onChange={(next) => setSpeed(next as Speed)}
          choices={SPEEDS.map((each) => ({
            value: each,
            title: each === 'max' ? 'max' : `${each}×`,
          }))}
        />
        <input
          type="range"
          aria-label="Position in the stream"
          aria-valuetext={duration(position)}
          className="h-4 min-w-40 flex-1 accent-(--accent)"
          min={0}
          max={endMs}
          step="any"
          value={position}
          onChange={(event) => scrub(event.target.valueAsNumber)}
        />
        <span className="w-36 text-right font-mono text-sm tabular-nums">
          {duration(position)} of {duration(endMs)}
        </span>
      </div>
      <p className="text-sm text-muted">
        Time to first token {firstMs === undefined ? 'an unknown time' : duration(firstMs)},{' '}
        {plural(chunks, 'piece')}
        {frames.length < chunks && `, ${plural(frames.length, 'moment')} shown`}
      </p>
      <ol aria-label="Answer so far" className="min-h-24 border border-line">
        {answer === undefined ? (
          <li className="p-2 text-muted">Nothing yet.</li>
        ) : (
          indexed(answer).map(({ index: position, item: message }) => (
            <MessageView
              key={position}
              message={message}
              path={`answer.${position}`}
              pairs={NO_PAIRS}
              isAnswer
            />
          ))
        )}
      </ol>
      <Section title="When the chunks arrived">
        <ChunkTimes times={times} current={current} onChoose={scrub} />
      </Section>
    </div>
  )
}

function ChunkTimes(props: {
  readonly times: readonly number[]
  readonly current: number
  readonly onChoose: (at: number) => void
}) {
  const { times, current, onChoose } = props
  return (
    <ol className="flex flex-wrap gap-x-1 font-mono text-xs">
      {indexed(times.slice(0, 1000)).map(({ index: position, item: at }) => (
        <li key={position}>
          <button
            type="button"
            aria-current={position === current ? 'step' : undefined}
            title={`${duration(at - (times[position - 1] ?? 0))} after the one before`}
            className="rounded-sm px-1 text-muted hover:bg-sunken aria-[current]:bg-accent-soft aria-[current]:text-accent"
            onClick={() => onChoose(at)}
          >
            {duration(at)}
          </button>
        </li>
      ))}
    </ol>
  )
}
