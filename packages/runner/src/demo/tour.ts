import { createHash } from 'node:crypto'
import type { Tape } from '@retake/tape'
import type { AgentRecording, RecordingOptions } from '../agent/record-agent.js'
import { replayAgent, type Replayed, replayReceipt } from '../agent/replay-agent.js'
import { painter, widthOf, wrap } from '../terminal/terminal.js'
import { recordShipped, type ShippedFolder } from './shipped-folder.js'

export interface TourRecording extends AgentRecording {
  readonly digest: string
}

export interface TourReplay {
  readonly identical: boolean
  readonly digest: string
  readonly receipt: Replayed
}

/** Presents shipped programs in numbered chapters, with the commands that do the same. */
export class Tour {
  readonly look = { paint: painter(process.stdout), width: widthOf(process.stdout) - 3 }
  readonly #isQuiet: boolean
  #chapters = 0
  #isEmpty = true

  constructor(options: { readonly isQuiet: boolean }) {
    this.#isQuiet = options.isQuiet
  }

  say(text: string): void {
    this.#isEmpty = false
    if (!this.#isQuiet) console.log(text)
  }

  chapter(title: string): void {
    const heading = this.look.paint('bold', `${++this.#chapters}  ${title}`)
    this.say(`${this.#isEmpty ? '' : '\n'}${heading}\n`)
  }

  lines(...lines: readonly string[]): void {
    for (const line of lines) this.say(line === '' ? '' : `   ${line}`)
  }

  /** Prose, wrapped to the width of the terminal. */
  text(text: string): void {
    this.lines(...wrap(text, this.look.width))
  }

  async record(
    folder: ShippedFolder,
    file: string,
    options: Partial<RecordingOptions> = {},
  ): Promise<TourRecording> {
    this.lines(`$ retake record ${folder.pathOf(file)}`)
    const hash = createHash('sha256')
    const show = this.output()
    const onOutput = (chunk: Buffer): void => {
      hash.update(chunk)
      show(chunk)
    }
    const recording = await recordShipped(folder, file, { ...options, onOutput })
    return { ...recording, digest: hash.digest('hex') }
  }

  async replay(tape: Tape, { digest: recorded }: TourRecording): Promise<TourReplay> {
    const hash = createHash('sha256')
    const receipt = await replayAgent(tape, {
      stdio: ['ignore', 'pipe', 'inherit'],
      onOutput: (chunk) => hash.update(chunk),
    })
    this.lines(...replayReceipt(tape, receipt, this.look))
    const digest = hash.digest('hex')
    return { identical: digest === recorded && receipt.divergences.length === 0, digest, receipt }
  }

  output(): (chunk: Buffer) => void {
    let rest = ''
    return (chunk) => {
      const lines = (rest + chunk.toString()).split('\n')
      rest = lines.pop() ?? ''
      this.lines(...lines)
    }
  }
}
