import { isTag } from '@retake/engine/runs'
import { openOwnTape } from '@retake/tape/node'
import { DIR_OPTION, usageError, type Verb } from '@retake/runner/command-line'
import { cliErrors } from '@retake/runner/errors'
import { changeTags, tagsOf } from '@retake/runner/runs'
import { printableLine } from '@retake/runner/terminal'

export default {
  arguments: '<run> [+tag or -tag...]',
  description: `Adds and removes tags of a run, and sets its note. Without changes, prints them.
Tags and notes are in a file beside the tape; the tape never changes. \`retake list --tag\` finds
runs by tag. \`retake rm\` removes no run with the tag \`pin\`, and no command removes a run with
the tag \`hold\`.`,
  options: {
    '--note <text>': 'set the note of the run; an empty text removes it',
    ...DIR_OPTION,
  },
  examples: [
    'retake tag last +refund +pin',
    "retake tag last -refund --note 'Wrong price for the second item'",
    'retake tag last',
  ],
  minusIsArgument: true,
  run(options, [name = '', ...changes]) {
    const { path: file, run, details } = openOwnTape(options.store.find(name))
    const unsigned = changes.find((change) => !/^[+-]/.test(change))
    if (unsigned !== undefined)
      throw usageError(
        `Unexpected argument "${unsigned}".`,
        'Write +tag to add a tag, -tag to remove one.',
      )
    const invalid = changes.find((change) => !isTag(change.slice(1)))
    if (invalid !== undefined) throw cliErrors.TAG_INVALID(invalid.slice(1))
    const note = options.text('note')
    const change = {
      add: changes.filter((each) => each.startsWith('+')).map((each) => each.slice(1)),
      remove: changes.filter((each) => each.startsWith('-')).map((each) => each.slice(1)),
      note,
    }
    const hasChange = changes.length > 0 || note !== undefined
    const tags = hasChange ? changeTags(file, details, change) : tagsOf(file, details)
    options.print({ run: run.id, tags: [], ...tags }, () => {
      const words = tags.tags?.map((tag) => `#${tag}`).join(' ') ?? 'no tags'
      return [printableLine([run.id, words, ...(tags.note ? [tags.note] : [])].join(' · '))]
    })
    return 0
  },
} satisfies Verb
