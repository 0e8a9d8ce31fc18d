import { explainError } from './backend-error.js'
import { openReport, type ReportAnswers } from './open-report.js'
import type { FromWorker, ToWorker } from './worker-client.js'

/**
 * The worker of a report, which reads the tape and answers calls. Sends a long answer in pieces, and
 * answers other calls in between.
 */
const scope = globalThis as unknown as {
  addEventListener: (type: 'message', listener: (event: MessageEvent<ToWorker>) => void) => void
  postMessage: (message: FromWorker, transfer: []) => void
}

let open: (report: Promise<ReportAnswers>) => void = () => {}
/** Calls may arrive before the tape, because the page renders first. */
const opened = new Promise<ReportAnswers>((resolve) => {
  open = resolve
})
// Every call reports the error.
opened.catch(() => {})
const cancelled = new Set<number>()
const running = new Set<number>()

scope.addEventListener('message', ({ data: message }) => {
  if (message.type === 'open') open(openReport(message.data))
  else if (message.type === 'cancel') {
    if (running.has(message.id)) cancelled.add(message.id)
  } else void answer(message)
})

async function answer({ id, call }: Extract<ToWorker, { type: 'call' }>): Promise<void> {
  running.add(id)
  try {
    const answers = await opened
    for (const value of answers(call)) {
      if (cancelled.has(id)) break
      scope.postMessage({ type: 'piece', id, value }, [])
      // Lets other messages in.
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
        channel.port2.postMessage(undefined, [])
      })
    }
    scope.postMessage({ type: 'end', id }, [])
  } catch (error) {
    scope.postMessage({ type: 'failed', id, error: explainError(error) }, [])
  } finally {
    running.delete(id)
    cancelled.delete(id)
  }
}

const channel = new MessageChannel()
const waiting: (() => void)[] = []
channel.port1.addEventListener('message', () => waiting.shift()?.())
channel.port1.start()
