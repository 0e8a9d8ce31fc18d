type Fields = Readonly<Record<string, string | number | boolean | undefined>>

/** Writes messages to stderr, one line each, as text or JSON. */
export class Log {
  constructor(
    private readonly format: 'text' | 'json',
    private readonly write = (line: string): void => void process.stderr.write(line),
  ) {}

  info(message: string, fields: Fields = {}): void {
    this.#line('info', message, fields)
  }

  /** Logs a request. In text format, only refusals and failures. */
  request(fields: Fields & { readonly status: number }): void {
    const { status } = fields
    const isRefused = status === 401 || status === 403 || status === 429
    if (this.format === 'json' || isRefused || status >= 500)
      this.#line(status >= 500 ? 'error' : isRefused ? 'warn' : 'info', 'request', fields)
  }

  warn(message: string, fields: Fields = {}): void {
    this.#line('warn', message, fields)
  }

  error(message: string, error: unknown, fields: Fields = {}): void {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    this.#line('error', message, { ...fields, error: text })
  }

  #line(level: string, message: string, fields: Fields): void {
    const time = new Date().toISOString()
    const given = Object.entries(fields).filter(([, value]) => value !== undefined)
    const parts = given.map(([name, value]) => {
      const text = String(value)
      return `${name}=${/[\s"]/.test(text) ? JSON.stringify(text) : text}`
    })
    const line =
      this.format === 'json'
        ? JSON.stringify({ time, level, message, ...Object.fromEntries(given) })
        : [time.slice(11, 19), level === 'info' ? '' : level, message, ...parts]
            .filter((each) => each !== '')
            .join(' ')
    // Control characters could forge lines.
    this.write(`${line.replaceAll(/\p{Cc}/gu, '?')}\n`)
  }
}
