import { copyAsCurl } from '../../../model/copy-as-curl.js'
import { copyAsTest } from '../../../model/copy-as-test.js'
import type { Command } from '../../commands/command.js'
import type { StepDetail } from '../../../model/step-detail.js'
import type { Run } from '../../run/use-run.js'
import { useSelection } from '../../run/use-selection.js'
import { useLinkTo } from '../use-link-to.js'
import { copyAndSay } from './copy-and-say.js'
import { saveBytes } from './save-bytes.js'

/** What can be copied and kept of a step, as commands. */
export function useCopies(run: Run, detail: StepDetail): readonly Command[] {
  const { tab, field } = useSelection()
  const linkTo = useLinkTo()
  const { label, request } = detail
  const json = (): string => JSON.stringify(detail, undefined, 2)
  const share = (
    command: Pick<Command, 'id' | 'title' | 'run'> & Partial<Pick<Command, 'keys' | 'disabled'>>,
  ): Command => ({ keys: [], ...command, group: 'Share' })
  return [
    share({
      id: 'step.copy-link',
      title: 'Copy link',
      keys: ['y'],
      run: () => void copyAndSay('the link', linkTo({ step: label, tab, field })),
    }),
    share({
      id: 'step.copy-curl',
      title: 'Copy as curl',
      keys: ['c'],
      disabled: request === undefined ? 'This step is no HTTP request.' : undefined,
      run: () => void copyAndSay('the request as curl', () => curlOf(run, detail)),
    }),
    share({
      id: 'step.copy-test',
      title: 'Copy as test',
      run: () => void copyAndSay('a test', copyAsTest({ ...run.head, id: run.id }, detail)),
    }),
    share({
      id: 'step.copy-json',
      title: 'Copy step as JSON',
      run: () => void copyAndSay('the step as JSON', json()),
    }),
    share({
      id: 'step.download-json',
      title: 'Download step as JSON',
      run: () => saveBytes(json(), `${run.id}-step-${label}.json`, 'application/json'),
    }),
  ]
}

/** With the whole body, which may have to be fetched. */
async function curlOf({ source }: Run, detail: StepDetail): Promise<string> {
  const isCut = detail.request?.body.clipped === true
  const text = isCut
    ? new TextDecoder('utf-8', { ignoreBOM: true }).decode(
        await source.body(detail.label, 'request'),
      )
    : undefined
  return copyAsCurl(detail, text) ?? ''
}
