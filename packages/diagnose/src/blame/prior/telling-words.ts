/** Words that people and models use at turns of a run; English only. Counted, never understood. */
export const TELLING_WORDS = {
  /** Made up instead of looked up. */
  hedging:
    /\b(?:assum\w*|simulat\w*|hypothetical\w*|placeholder|suppose\w*|mock\w*|sample data|for the sake of|example data|dummy|pretend\w*|imagine|let's say)\b/gi,
  /** Remembered instead of looked up. */
  memory:
    /\b(?:my knowledge|i recall|from memory|known to|generally|typically|commonly|historical(?:ly)? (?:data|records)|it is known|well-known|based on (?:the )?(?:general|common|my))\b/gi,
  giveUp:
    /\b(?:unable|cannot|can't|could not|couldn't|not (?:possible|available|feasible|accessible|able)|failed to|fail(?:s|ed|ure)?|apologi\w+|sorry|unfortunately|no (?:direct )?access)\b/gi,
  trouble:
    /\b(?:error|errors|exception|traceback|timed? ?out|timeout|denied|forbidden|invalid|unexpected|undefined|not found|missing|issue|issues|problem|refused|blocked|captcha)\b/gi,
  verdict:
    /\b(?:therefore|thus|hence|in conclusion|conclude[sd]?|final answer|the answer is|result is|terminate|in summary|summary|so,? the)\b/gi,
  confirming:
    /\b(?:confirm\w*|verif(?:y|ied|ies|ication)|correct(?:ly)?|accurate(?:ly)?|agree[sd]?|consistent|valid(?:ated)?|matches)\b/gi,
  correcting:
    /\b(?:however|incorrect(?:ly)?|mistake\w*|wrong(?:ly)?|instead|revis\w+|adjust\w*|re-?check\w*|double-?check\w*|actually|misunder\w+|overlook\w*|should have|fix\w*)\b/gi,
  planning:
    /\b(?:plan|steps?|first(?:ly)?|next|then|proceed|will|let's|let us|need to|going to|to do this)\b/gi,
  guessing:
    /\b(?:approximate\w*|estimate[sd]?|roughly|about|likely|probably|might|may|could be|seems?|appears?|perhaps|possibly)\b/gi,
  handing: /\b(?:please|could you|can you|would you|share|provide)\b/gi,
} as const satisfies Record<string, RegExp>

export type TellingWord = keyof typeof TELLING_WORDS

export const countMatches = (text: string, pattern: RegExp): number =>
  text.match(pattern)?.length ?? 0

/** What an environment says when something failed, where no flag tells. */
const FAILED =
  /\bexit ?code:? *[1-9]|execution failed|traceback \(most recent|\b\w*(?:error|exception)\b[:(]|\b(?:4\d\d|5\d\d) (?:client|server|forbidden|not found|error)|^error\b|"error":|command not found|no such file|permission denied|timed? out/im

export const saysFailed = (text: string): boolean => FAILED.test(text.slice(0, 4000))

/** An answer that holds nothing: no output, an empty list, nothing found. */
export const saysNothing = (text: string): boolean => {
  const start = text.slice(0, 2000).toLowerCase()
  return NOTHING_FOUND.test(start) || NOTHING.has(withoutHead(start))
}

const NOTHING = new Set(['', '[]', '{}', 'none', 'null', 'undefined', '""', 'n/a'])

const NOTHING_FOUND =
  /no results?\b|not found|nothing (?:was )?found|no data|could not find|there is no code/

/** Without what a terminal says before the output. */
const withoutHead = (text: string): string =>
  text
    .trim()
    .replace(/^exit ?code:? ?0[^\n]*(?:\n|$)/, '')
    .trim()
    .replace(/^code output:/, '')
    .trim()
    .replace(/^([[{])\s+([\]}])$/, '$1$2')
