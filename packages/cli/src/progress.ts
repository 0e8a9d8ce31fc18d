const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const SHOWN_AFTER_MS = 1000

/** Says on a terminal what takes so long; silent for a second, and everywhere else. */
export class Progress {
  readonly #startedAt = performance.now()
  readonly #timer: NodeJS.Timeout | undefined
  #text: string
  #frame = 0
  #shown = false

  constructor(text: string) {
    this.#text = text
    if (!process.stderr.isTTY) return
    this.#timer = setInterval(() => this.#draw(), 80)
    this.#timer.unref()
  }

  say(text: string): void {
    this.#text = text
  }

  stop(): void {
    clearInterval(this.#timer)
    if (this.#shown) process.stderr.write('\r\u001B[K')
  }

  #draw(): void {
    const elapsedMs = performance.now() - this.#startedAt
    if (elapsedMs < SHOWN_AFTER_MS) return
    this.#shown = true
    this.#frame = (this.#frame + 1) % FRAMES.length
    const line = `${FRAMES[this.#frame]} ${this.#text} (${Math.round(elapsedMs / 1000)} s)`
    process.stderr.write(`\r\u001B[K${line.slice(0, (process.stderr.columns || 80) - 1)}`)
  }
}
