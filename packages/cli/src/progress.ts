const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const SHOWN_AFTER_MS = 1000
const REDRAWN_EVERY_MS = 80

/** Says on a terminal what takes so long; silent for a second, and everywhere else. */
export class Progress {
  readonly #startedAt = performance.now()
  readonly #timer: NodeJS.Timeout | undefined
  #text: string
  #frame = 0
  #shown = false
  #drawnMs = 0

  constructor(text: string) {
    this.#text = text
    if (!process.stderr.isTTY) return
    this.#timer = setInterval(() => this.#draw(), REDRAWN_EVERY_MS)
    this.#timer.unref()
  }

  /** Also draws: work that does not wait lets no timer through. */
  say(text: string): void {
    this.#text = text
    if (this.#timer !== undefined) this.#draw()
  }

  stop(): void {
    clearInterval(this.#timer)
    if (this.#shown) process.stderr.write('\r\u001B[K')
  }

  #draw(): void {
    const elapsedMs = performance.now() - this.#startedAt
    if (elapsedMs < SHOWN_AFTER_MS || elapsedMs - this.#drawnMs < REDRAWN_EVERY_MS / 2) return
    this.#drawnMs = elapsedMs
    this.#shown = true
    this.#frame = (this.#frame + 1) % FRAMES.length
    const line = `${FRAMES[this.#frame]} ${this.#text} (${Math.round(elapsedMs / 1000)} s)`
    process.stderr.write(`\r\u001B[K${line.slice(0, (process.stderr.columns || 80) - 1)}`)
  }
}
