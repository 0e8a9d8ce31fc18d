import { duration, plural } from '@retake/tape/present'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { AnswerFrames } from '../../model/run-source.js'
import { useCommands } from '../commands/commands.js'
import { Button } from '../design/button.js'
import { Choice } from '../design/fields.js'
import { QueryNote } from '../design/notes.js'
import { lowerBound } from '../run/data/row-store.js'
import { FieldSection, type TabProps } from '../values/field.js'
import { MessageView } from './message-view.js'
import { indexed } from '../values/text-parts.js'

/** Recorded speed, four times as fast, or about a second in total. */
const SPEEDS = ['1', '4', 'max'] as const
type Speed = (typeof SPEEDS)[number]

/** The position after some real time, not beyond the end. */
export function advance(
  position: number,
  elapsedMs: number,
  { speed, endMs }: { readonly speed: Speed; readonly endMs: number },
): number {
  const factor = speed === 'max' ? Math.max(4, endMs / 1000) : Number(speed)
  return Math.min(endMs, position + elapsedMs * factor)
}

/** The last frame at or before a position; -1 before the first. */
export function frameAt(frames: readonly { readonly at: number }[], position: number): number {
  return lowerBound(frames.length, (index) => (frames[index]?.at ?? 0) <= position) - 1
}

/** Plays `endMs` of recorded time. Starts automatically, unless the user prefers reduced motion. */
function usePlayback(endMs: number) {
  const [isStill] = useState(() => matchMedia('(prefers-reduced-motion: reduce)').matches)
  const [position, setPosition] = useState(isStill ? endMs : 0)
  const [isPlaying, setPlaying] = useState(!isStill)
  const [speed, setSpeed] = useState<Speed>('1')
  const at = useRef(position)
  const move = (next: number): void => {
    at.current = next
    setPosition(next)
  }
  useEffect(() => {
    if (!isPlaying) return
    let last = performance.now()
    let frame = requestAnimationFrame(function tick(now) {
      move(advance(at.current, Math.max(0, now - last), { speed, endMs }))
      last = now
      if (at.current >= endMs) setPlaying(false)
      else frame = requestAnimationFrame(tick)
    })
    return () => cancelAnimationFrame(frame)
  }, [isPlaying, speed, endMs])
  return {
    position,
    isPlaying,
    speed,
    setSpeed,
    /** Plays (from the start if at the end) or pauses. */
    toggle: () => {
      if (!isPlaying && position >= endMs) move(0)
      setPlaying(!isPlaying)
    },
    scrub: (next: number) => {
      setPlaying(false)
      move(next)
    },
  }
}

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

function Player({ stream, firstMs }: { stream: AnswerFrames; firstMs: number | undefined }) {
  const { frames, chunks } = stream
  const endMs = frames.at(-1)?.at ?? 0
  const { position, isPlaying, speed, setSpeed, toggle, scrub } = usePlayback(endMs)
  const current = frameAt(frames, position)
  useCommands((add) => {
    add('Look', 'step.play', isPlaying ? 'Pause the stream' : 'Play the stream', [' '], toggle)
  })
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
          onChange={setSpeed}
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
        Time to first token {firstMs === undefined ? 'unknown' : duration(firstMs)},{' '}
        {plural(chunks, 'chunk')}
        {frames.length < chunks && `, ${plural(frames.length, 'frame')} shown`}
      </p>
      <ol aria-label="Answer so far" className="min-h-24 border border-line">
        {answer === undefined ? (
          <li className="p-2 text-muted">Nothing yet.</li>
        ) : (
          indexed(answer).map(({ index: position, item: message }) => (
            <MessageView key={position} message={message} path={`answer.${position}`} isAnswer />
          ))
        )}
      </ol>
      <FieldSection title="When the chunks arrived">
        <ol className="flex flex-wrap gap-x-1 font-mono text-xs">
          {indexed(frames.slice(0, 1000)).map(({ index, item: { at } }) => (
            <li key={index}>
              <button
                type="button"
                aria-current={index === current ? 'step' : undefined}
                title={`${duration(at - (frames[index - 1]?.at ?? 0))} after the previous chunk`}
                className="rounded-sm px-1 text-muted hover:bg-sunken aria-[current]:bg-accent-soft aria-[current]:text-accent"
                onClick={() => scrub(at)}
              >
                {duration(at)}
              </button>
            </li>
          ))}
        </ol>
      </FieldSection>
    </div>
  )
}
