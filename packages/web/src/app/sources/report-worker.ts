import { explainError } from '../design/explain-error.js'
import { openReport } from './open-report.js'
import type { ReportAnswers } from './report-answers.js'
import type { FromWorker, ToWorker } from './worker-protocol.js'

/**
 * The worker of a report: it holds the tape and answers questions about it. A long
 * answer goes out piece by piece, and between two pieces others are answered.
 */
const scope = globalThis as unknown as {
  addEventListener: (type: 'message', listener: (event: MessageEvent<ToWorker>) => void) => void
  postMessage: (message: FromWorker, transfer: []) => void
}

let open: (report: Promise<ReportAnswers>) => void = () => {}
/** Questions may come before the tape does: the page shows itself first. */
const opened = new Promise<ReportAnswers>((resolve) => {
  open = resolve
})
// Whoever asks is told.
opened.catch(() => {})
const cancelled = new Set<number>()
const asked = new Set<number>()

scope.addEventListener('message', ({ data: message }) => {
  if (message.type === 'open') open(openReport(message.data))
  else if (message.type === 'cancel') {
    if (asked.has(message.id)) cancelled.add(message.id)
  } else void answer(message)
})

async function answer({ id, question }: Extract<ToWorker, { type: 'ask' }>): Promise<void> {
  asked.add(id)
  try {
    const answers = await opened
    for (const value of answers.answer(question)) {
      if (cancelled.has(id)) break
      scope.postMessage({ type: 'piece', id, value }, [])
      await turn()
    }
    scope.postMessage({ type: 'end', id }, [])
  } catch (error) {
    scope.postMessage({ type: 'failed', id, error: explainError(error) }, [])
  } finally {
    asked.delete(id)
    cancelled.delete(id)
  }
}

const channel = new MessageChannel()
const waiting: (() => void)[] = []
channel.port1.addEventListener('message', () => waiting.shift()?.())
channel.port1.start()

/** Lets messages that have come meanwhile be heard. */
const turn = (): Promise<void> =>
  new Promise((resolve) => {
    waiting.push(resolve)
    channel.port2.postMessage(undefined, [])
  })
