import type { Editable } from '../../api/home-changes.js'
import type { ForkDraft } from './fork-draft.js'

/** What can be different in a fork, and why some of it cannot at this step. */
export function choicesOf(editable: Editable) {
  return [
    {
      value: 'answer' as const,
      title: 'Another answer',
      text: 'The step gets what you write.',
      disabled: editable.answer ? undefined : (editable.whyNoAnswer ?? 'There is no answer.'),
    },
    {
      value: 'question' as const,
      title: 'Another question',
      text: 'What you write is asked, live.',
      disabled: editable.request ? undefined : (editable.whyNoRequest ?? 'It cannot be edited.'),
    },
    {
      value: 'again' as const,
      title: 'Ask again',
      text: 'The same question, answered live.',
    },
  ]
}

/** What was chosen, or the first thing that can be chosen at this step. */
export function possibleChoice(
  { choice }: ForkDraft,
  editable: Editable | undefined,
): ForkDraft['choice'] {
  if (editable === undefined) return choice
  if (choice === 'answer' && editable.answer === undefined)
    return editable.request === undefined ? 'again' : 'question'
  if (choice === 'question' && editable.request === undefined) return 'again'
  return choice
}
