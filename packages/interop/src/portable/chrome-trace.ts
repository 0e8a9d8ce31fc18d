import { originOf, type RunView, type Tape } from '@retake/tape'

/** A run as Chrome's trace events, for Perfetto: one line per lane. */
export function* chromeTraceOf(tape: Tape, view: RunView): Generator<string> {
  const about = { run: view.id, name: view.name, started: new Date(view.startedAt).toISOString() }
  yield `{"displayTimeUnit":"ms","otherData":${JSON.stringify(about)},"traceEvents":[`
  yield `\n${JSON.stringify({ ph: 'M', name: 'process_name', pid: 1, args: { name: view.name } })}`
  for (const [index] of view.lanes.entries()) {
    const name = {
      ph: 'M',
      name: 'thread_name',
      pid: 1,
      tid: index,
      args: { name: `lane ${index}` },
    }
    yield `,\n${JSON.stringify(name)}`
  }
  for (const step of view.steps) {
    const origin = originOf(tape, step)
    const event = {
      ph: 'X',
      name: step.title,
      cat: [step.kind, ...(origin === 'served' ? ['replayed'] : [])].join(','),
      pid: 1,
      tid: step.lane,
      ts: Math.round(step.at * 1000),
      dur: Math.max(1, Math.round((step.latencyMs ?? 0) * 1000)),
      args: {
        step: step.label,
        state: step.state,
        ...(origin && { origin }),
        ...(step.model !== undefined && { model: step.model }),
        ...(step.usage && {
          input_tokens: step.usage.input + step.usage.cachedInput + step.usage.cacheWrite,
          output_tokens: step.usage.output,
        }),
        ...(step.costUsd !== undefined && origin !== 'served' && { cost_usd: step.costUsd }),
        ...(step.error !== undefined && { error: step.error }),
        ...(step.within.length > 0 && { within: step.within.map(({ name }) => name).join(' > ') }),
      },
    }
    yield `,\n${JSON.stringify(event)}`
  }
  yield '\n]}\n'
}
