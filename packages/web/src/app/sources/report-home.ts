import type { RunCard, RunHead } from '../../model/run-head.js'
import { BLOCKS, type ReportAbout } from '../../report/report-parts.js'
import { AskWorker, type Answerer } from './ask-worker.js'
import { HomeError } from './home-error.js'
import { ReportSource } from './report-source.js'
import type { ViewerHome } from './viewer-home.js'

const HERE = 'This is a report. Open the run itself with `retake ui` to change it.'

/** The home of a report: the tape that stands in the page itself. It is there at once; what it knows comes later. */
export function openReportHome(): ViewerHome {
  const about = JSON.parse(blockText(BLOCKS.about)) as ReportAbout
  const worker = new AskWorker(startWorker())
  const source = new ReportSource(worker)
  void allParsed().then(() =>
    worker.open({
      run: about.run,
      parts: blockText(BLOCKS.parts),
      tapes: Array.from({ length: about.tapes }, (_, place) => blockText(BLOCKS.tape(place))),
    }),
  )
  return {
    name: about.title,
    onlyRun: about.run,
    runs: async () => [cardOf(await source.head())],
    run: (id) => (id === about.run ? source : new ReportSource(refusing(about.run))),
    abilities: () => Promise.resolve({ fork: HERE, rerun: HERE, step: HERE }),
    watch: () => () => {},
    live: undefined,
    report: about,
  }
}

/** A link may lead to another run, such as the one a branch goes on from. */
function refusing(run: string): Answerer {
  const refuse = (): Promise<never> =>
    Promise.reject(
      new HomeError({
        code: 'REPORT_OTHER_RUN',
        what: 'This run is not in the report.',
        why: `The report holds one run, ${run}.`,
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

/** Pages from disk cannot load a worker from another file; this one is made of what stands in the page. */
function startWorker(): Worker {
  const code = JSON.parse(blockText(BLOCKS.worker)) as string
  const address = URL.createObjectURL(new Blob([code], { type: 'text/javascript' }))
  const worker = new Worker(address, { name: 'retake-report' })
  worker.addEventListener('message', () => URL.revokeObjectURL(address), { once: true })
  return worker
}

/** The data stands behind the script, so that the page shows itself before it is read. */
const allParsed = (): Promise<void> =>
  document.readyState === 'loading'
    ? new Promise((resolve) =>
        document.addEventListener('DOMContentLoaded', () => resolve(), { once: true }),
      )
    : Promise.resolve()

function blockText(id: string): string {
  const text = document.getElementById(id)?.textContent ?? undefined
  if (text === undefined) throw new Error(`the report has no block ${id}: it is not whole`)
  return text
}

const cardOf = ({ id, name, startedAt, durationMs, status, recordedSteps }: RunHead): RunCard => ({
  id,
  name,
  startedAt,
  durationMs,
  status,
  steps: recordedSteps,
})
