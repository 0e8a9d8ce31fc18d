/**
 * The turns of the model of shop-model.mjs as `stepLine` writes them, for each
 * wire format: what it calls the end of a turn, and which tokens it counts.
 * Costs are millionths of a dollar, worked out by hand from the list price of
 * the model in the comment where they are given.
 */
interface Turns {
  /** Asks for the tool. */
  readonly order: string
  /** Repeats the tool's result. */
  readonly found: string
  /** A few words. */
  readonly said: string
  /** Refused for now, its body left unread by the client. */
  readonly busy: string
}

interface Costs {
  readonly order: number | '?'
  readonly found: number | '?'
  readonly said: number | '?'
}

const UNKNOWN: Costs = { order: '?', found: '?', said: '?' }

/** The tool call of `order` as a step of its own, seen in the conversation. */
export const findOrder = 'tool: find_order({"id":"1182"})'

interface Words {
  readonly calls: string
  readonly ends: string
  readonly order?: string
  readonly found: string
}

const turns =
  ({ calls, ends, order = '120 in 40 cached 20 out', found }: Words) =>
  (who: string, costs: Costs = UNKNOWN): Turns => ({
    order: `${who}: calls find_order {"id":"1182"}, ${calls}, ${order}, ${costs.order} µ$`,
    found: `${who}: ${ends}, ${found}, ${costs.found} µ$`,
    said: `${who}: ${ends}, 10 in 5 out, ${costs.said} µ$`,
    busy: `${who}: failed (429 Too Many Requests)`,
  })

export const chatTurns = turns({
  calls: 'tool_calls',
  ends: 'stop',
  found: '200 in 100 cached 30 out 10 thought',
})

/** Mistral counts no reasoning. */
export const mistralTurns = turns({
  calls: 'tool_calls',
  ends: 'stop',
  found: '200 in 100 cached 30 out',
})

export const responsesTurns = turns({
  calls: 'completed',
  ends: 'completed',
  found: '200 in 100 cached 30 out 10 thought',
})

export const geminiTurns = turns({
  calls: 'STOP',
  ends: 'STOP',
  found: '200 in 100 cached 30 out 10 thought',
})

export const claudeTurns = turns({
  calls: 'tool_use',
  ends: 'end_turn',
  found: '200 in 100 cached 50 written 30 out',
})

/** Counts the whole prompt, and says `stop` also when it calls. */
export const ollamaTurns = turns({
  calls: 'stop',
  ends: 'stop',
  order: '160 in 20 out',
  found: '200 in 30 out',
})

/** An error whose body the client has read. */
export const told = (step: string, message: string): string => `${step.slice(0, -1)}: ${message})`
