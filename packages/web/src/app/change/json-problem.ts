/** Why a text is no JSON, and where. */
export interface JsonProblem {
  readonly message: string
  /** Counted from 1; missing when the browser does not say. */
  readonly line?: number
  readonly column?: number
}

export type ParsedJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: JsonProblem }

/** Reads JSON; what is wrong with it comes with its line. */
export function readJson(text: string): ParsedJson {
  try {
    return { ok: true, value: JSON.parse(text) as unknown }
  } catch (error) {
    return { ok: false, problem: problemOf(text, (error as Error).message) }
  }
}

/** Browsers say it as `line 3 column 5` or as `position 41`; some only in newer versions. */
function problemOf(text: string, said: string): JsonProblem {
  const message = said
    .replace(/^JSON\.parse: /, '')
    .replace(/,? \.\.\..* is not valid JSON$/s, '')
    .replace(/ (?:in JSON )?at (?:position \d+.*|line \d+ column \d+.*)$/s, '')
  const named = /line (\d+) column (\d+)/.exec(said)
  if (named !== null) return { message, line: Number(named[1]), column: Number(named[2]) }
  const position = /position (\d+)/.exec(said)?.[1]
  const at = position === undefined && /end of/i.test(said) ? text.length : Number(position)
  if (Number.isNaN(at)) return { message }
  const before = text.slice(0, at)
  return {
    message,
    line: before.split('\n').length,
    column: at - before.lastIndexOf('\n'),
  }
}
