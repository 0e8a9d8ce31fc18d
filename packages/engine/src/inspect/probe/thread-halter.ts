import { Worker } from 'node:worker_threads'
import type { DeliveryEvent, InitiationEvent } from '@retake/tape/format'
import type { InspectTask } from '../../plans/process-task.js'
import { outsideRuns } from '../../kernel/scope.js'
import { closeInspector, InspectorTools, type InspectedSession } from './inspector-tools.js'
import { pauseHere } from './pause-here.js'
import { NEVER, SLOT, SLOTS, STATE } from './shared-slots.js'
import type { EventPosition, InspectorThreadData } from './shared-slots.js'
import { engineRoot } from '../../package-root.js'

/** For a controller that has stopped reading. */
const SENT_MS = 10_000

/**
 * Halts the main thread of a replayed process where a controller wants it. The agent notices
 * nothing: no turn of the event loop is added, nothing is recorded, and a process that is not
 * halted pays two comparisons per event.
 */
export class ThreadHalter {
  readonly #slots = new Int32Array(new SharedArrayBuffer(SLOTS * Int32Array.BYTES_PER_ELEMENT))
  readonly #inspector: Worker

  constructor({ fd }: InspectTask) {
    this.#slots[SLOT.wanted] = NEVER
    this.#slots[SLOT.wantedDelivery] = NEVER
    const workerData: InspectorThreadData = { fd, slots: this.#slots }
    this.#inspector = outsideRuns(
      () =>
        new Worker(new URL('bundle/inspector-thread.js', engineRoot), { workerData, execArgv: [] }),
    )
    this.#inspector.unref()
  }

  /** Halts before any agent code has run. */
  atStart(session: InspectedSession): void {
    this.#halt({ seq: 0, at: 'start' }, session)
  }

  atInitiation(event: InitiationEvent, session: InspectedSession): void {
    if (event.seq >= this.#slot(SLOT.wanted))
      this.#halt({ seq: event.seq, at: 'initiation' }, session)
  }

  atDelivery(event: DeliveryEvent, session: InspectedSession): void {
    const { seq } = event
    if (seq >= this.#slot(SLOT.wanted) || seq >= this.#slot(SLOT.wantedDelivery))
      this.#halt({ seq, at: 'delivery' }, session)
  }

  /** Reports a secret that the program now has in memory and that the controller must not show. */
  hide(value: string, placeholder: string): void {
    this.#notify('Retake.secret', { value, placeholder })
  }

  /**
   * Waits until the inspector thread has sent its messages: a process that ends first would lose
   * those about the scripts that it has loaded.
   */
  atEnd(): void {
    outsideRuns(closeInspector)
    Atomics.store(this.#slots, SLOT.state, STATE.ending)
    this.#notify('Retake.ending', {})
    Atomics.wait(this.#slots, SLOT.state, STATE.ending, SENT_MS)
  }

  #notify(method: string, params: object): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    outsideRuns(() => this.#inspector.postMessage({ method, params }))
  }

  #slot(slot: number): number {
    return Atomics.load(this.#slots, slot)
  }

  #halt(at: EventPosition, session: InspectedSession): void {
    Atomics.store(this.#slots, SLOT.state, STATE.halted)
    this.#notify('Retake.halted', at)
    for (;;) {
      const state = this.#slot(SLOT.state)
      if (state === STATE.running) return
      if (state === STATE.pausing) break
      Atomics.wait(this.#slots, SLOT.state, state, state === STATE.halted ? Infinity : 1)
    }
    Atomics.store(this.#slots, SLOT.state, STATE.running)
    pauseHere(new InspectorTools(session))
  }
}
