import { useSyncExternalStore } from 'react'
import { isEdited, NEW_DRAFT, type ForkDraft } from './fork-draft.js'

/**
 * The drafts of this page, by run and step. They live as long as the page: closing a
 * dialog or looking at another step keeps them, and another tab has its own.
 */
class ForkDrafts {
  readonly #drafts = new Map<string, ForkDraft>()
  readonly #listeners = new Set<() => void>()

  of(run: string, step: string): ForkDraft {
    return this.#drafts.get(keyOf(run, step)) ?? NEW_DRAFT
  }

  change(run: string, step: string, change: Partial<ForkDraft>): void {
    this.#drafts.set(keyOf(run, step), { ...this.of(run, step), ...change })
    this.#changed()
  }

  drop(run: string, step: string): void {
    this.#drafts.delete(keyOf(run, step))
    this.#changed()
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #changed(): void {
    const isAnyEdited = [...this.#drafts.values()].some(isEdited)
    if (isAnyEdited) addEventListener('beforeunload', askBeforeLeaving)
    else removeEventListener('beforeunload', askBeforeLeaving)
    for (const listener of this.#listeners) listener()
  }
}

const keyOf = (run: string, step: string): string => JSON.stringify([run, step])

const askBeforeLeaving = (event: BeforeUnloadEvent): void => event.preventDefault()

export const forkDrafts = new ForkDrafts()

export const useForkDraft = (run: string, step: string): ForkDraft =>
  useSyncExternalStore(forkDrafts.subscribe, () => forkDrafts.of(run, step))
