import { eventLines } from '@retake/tape'
import type { RunModel } from '../../model/run-model.js'
import type { ReportParts } from '../../report/report-parts.js'
import type { Question } from './worker-protocol.js'

/** Lines put together before they become part of a Blob. */
const LINES = 1000

/** Answers the questions about the run in a report, in pieces where the server would send lines. */
export class ReportAnswers {
  readonly #model: RunModel
  readonly #parts: ReportParts

  constructor(model: RunModel, parts: ReportParts) {
    this.#model = model
    this.#parts = parts
  }

  *answer(question: Question): Generator {
    const model = this.#model
    switch (question.ask) {
      case 'rows':
        yield* model.rows(question.from)
        break
      case 'search':
        yield* model.search(question.text, { states: this.#parts.states })
        break
      case 'head':
        yield { ...model.head(), tornBytes: this.#parts.tornBytes }
        break
      case 'step':
        yield model.step(question.label, question)
        break
      case 'stream':
        yield model.stream(question.label)
        break
      case 'body':
        yield model.body(question.label, question.side)
        break
      case 'state':
        yield model.state(question.label, this.#parts.states)
        break
      case 'source':
        yield own(this.#parts.sources, question.site)
        break
      case 'console':
        yield model.console()
        break
      case 'files':
        yield model.files()
        break
      case 'events':
        yield model.events(question.from, question.to)
        break
      case 'event':
        yield model.event(question.seq)
        break
      case 'blame':
        yield this.#parts.blame
        break
      case 'exportJsonl':
        yield* this.#export()
        break
    }
  }

  *#export(): Generator<Blob> {
    let lines = ''
    let count = 0
    for (const line of eventLines(this.#model.tape)) {
      lines += `${JSON.stringify(line)}\n`
      if (++count % LINES !== 0) continue
      yield new Blob([lines])
      lines = ''
    }
    yield new Blob([lines])
  }
}

const own = <T>(record: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined
