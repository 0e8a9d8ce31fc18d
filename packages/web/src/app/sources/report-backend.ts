import type { RowMessage } from '@retake/tape/present'

import type { FoundEvents, RunSource, SearchProgress } from '../../model/run-source.js'
import { BLOCKS, type ReportAbout } from '../../report/report-parts.js'
import { type Answerer, WorkerClient, type SourceCall } from './worker-client.js'
import { BackendError } from './backend-error.js'
import type { ViewerBackend } from './backend.js'

function makeReportSource(worker: Answerer): RunSource {
  const one =
    <Method extends keyof RunSource>(method: Method) =>
    (...args: Parameters<RunSource[Method]>) =>
      worker.one<never>({ method, args } as SourceCall)
  const many =
    <T>(method: 'search' | 'findEvents') =>
    (text: string, signal: AbortSignal) =>
      worker.pieces({ method, args: [text] } as unknown as SourceCall, signal) as AsyncGenerator<T>
  return {
    head: one('head'),
    rows: ({ from, signal } = {}) =>
      worker.pieces({ method: 'rows', args: [{ from }] }, signal) as AsyncGenerator<RowMessage>,
    step: one('step'),
    stream: one('stream'),
    body: async (label, side) => {
      const body: Uint8Array | undefined = await one('body')(label, side)
      if (body !== undefined) return body
      throw new BackendError({ code: 'REPORT_NO_BODY', what: `Step ${label} has no ${side}.` })
    },
    state: one('state'),
    console: one('console'),
    files: one('files'),
    events: one('events'),
    event: one('event'),
    findEvents: many<FoundEvents>('findEvents'),
    search: many<SearchProgress>('search'),
    source: one('source'),
    findings: one('findings'),
  }
}

const HERE = 'This is a report. Open the run itself with `retake ui` to change it.'

/**
 * The backend of a report, whose tape is embedded in the page. Available immediately; its data comes
 * later.
 */
export function openReportBackend(): ViewerBackend {
  const about = JSON.parse(blockText(BLOCKS.about)) as ReportAbout
  const worker = new WorkerClient(startWorker())
  const source = makeReportSource(worker)
  // The data follows the script, so that the page renders first.
  const parsed = new Promise<unknown>((resolve) => {
    if (document.readyState !== 'loading') resolve(undefined)
    else document.addEventListener('DOMContentLoaded', resolve, { once: true })
  })
  void parsed.then(() =>
    worker.open({
      run: about.run,
      parts: blockText(BLOCKS.parts),
      tapes: Array.from({ length: about.tapes }, (_, index) => blockText(BLOCKS.tape(index))),
    }),
  )
  return {
    name: about.title,
    onlyRun: about.run,
    runs: async () => {
      const { id, name, startedAt, durationMs, status, recordedSteps: steps } = await source.head()
      return [{ id, name, startedAt, durationMs, status, steps }]
    },
    run: (id) => (id === about.run ? source : makeReportSource(refusing(about.run))),
    abilities: () => Promise.resolve({ fork: HERE, rerun: HERE, step: HERE }),
    watch: () => () => {},
    related: undefined,
    live: undefined,
    tabs: about.tabs,
    report: about,
  }
}

/** Refuses other runs, to which links may lead, such as the parent of a branch. */
function refusing(run: string): Answerer {
  const refuse = (): Promise<never> =>
    Promise.reject(
      new BackendError({
        code: 'REPORT_OTHER_RUN',
        what: 'This run is not in the report.',
        why: `The report contains one run, ${run}.`,
        fix: 'Go back, or open the other run with `retake ui` where it was recorded.',
      }),
    )
  return {
    one: refuse,
    // eslint-disable-next-line require-yield
    async *pieces() {
      await refuse()
    },
  }
}

/** The worker is embedded, because a page from disk cannot load it from another file. */
function startWorker(): Worker {
  const code = JSON.parse(blockText(BLOCKS.worker)) as string
  const address = URL.createObjectURL(new Blob([code], { type: 'text/javascript' }))
  const worker = new Worker(address, { name: 'retake-report' })
  worker.addEventListener('message', () => URL.revokeObjectURL(address), { once: true })
  return worker
}

function blockText(id: string): string {
  const text = document.getElementById(id)?.textContent ?? undefined
  if (text === undefined) throw new Error(`the report has no block ${id}: it is incomplete`)
  return text
}
