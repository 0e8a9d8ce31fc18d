import { messageText, type Message, type Step } from '@retake/tape'
import { hashText } from '../hash.js'
import { lazySketch, type Alignable } from './align.js'
import { contentOf, comparableUrl, type StepContent } from './step-content.js'

/** A step as `align` sees it. Its content is read once and not kept: conversations are long. */
export interface StepProfile extends Alignable {
  readonly step: Step
}

export const profileOf = (step: Step): StepProfile => {
  const content = contentOf(step)
  const words = wordsOf(content).join(' ')
  return {
    step,
    digest: digestOf(step, content),
    family: familyOf(step, content),
    sketch: lazySketch(() => words),
  }
}

/** A profile of a step that two runs share: nothing of it is read. */
export const sharedProfile = (step: Step): StepProfile => ({
  step,
  digest: -1 - hashText(step.label),
  family: 'shared',
  sketch: () => new Int32Array(),
})

const digestOf = (
  { kind, title }: Step,
  { before, messages, conversation, answer, after }: StepContent,
): number =>
  hashText(
    JSON.stringify([
      kind,
      kind === 'mark' ? title : '',
      before,
      // The conversation as it was sent says all that the messages say.
      conversation === '{}' || conversation === '' ? messages : conversation,
      answer,
      after,
    ]),
  )

const familyOf = (step: Step, { before }: StepContent): string => {
  const valueOf = (wanted: string): string => {
    const value = before.find(({ path }) => path === wanted)?.value
    return typeof value === 'string' ? value : ''
  }
  switch (step.kind) {
    case 'model':
      return 'model'
    case 'tool':
      return `tool ${valueOf('name')}`
    case 'mcp':
      return `mcp ${valueOf('name')}`
    case 'process':
      return `process ${step.title.split(' ')[0]}`
    case 'http':
      return `http ${valueOf('method')} ${comparableUrl(valueOf('url')).split('?')[0]}`
    case 'mark':
      return `mark ${step.title.split(':')[0]}`
  }
}

/**
 * The words that tell a step from its neighbours. In a conversation that is
 * what is new in it: most of a request repeats what came before.
 */
const wordsOf = ({ before, messages, answer, after }: StepContent): string[] => {
  const values = [...before, ...after]
    .filter(({ area, path }) => area !== 'usage' && path !== 'state' && path !== 'tools')
    .map(({ value }) => JSON.stringify(value) ?? '')
  return [...messages.slice(-2), ...answer].map(wordsOfMessage).concat(values)
}

const wordsOfMessage = (message: Message): string =>
  messageText(message) ||
  JSON.stringify(message.parts.map((part) => ('id' in part ? { ...part, id: '' } : part)))
