import { EmptyNote } from '../empty-note.js'
import { ErrorNote } from '../error-note.js'
import { Button } from '../button.js'
import { Facts } from '../facts.js'
import { Progress } from '../progress.js'
import { Spinner } from '../spinner.js'
import { LONG, Specimen } from './specimen.js'

const EXPLAINED = {
  code: 'TAPE_DAMAGED',
  what: 'The tape cannot be read beyond event 1,204.',
  why: 'A checksum does not fit: bytes were changed after they were written.',
  fix: 'Run `retake verify` to see what is left.',
}

/** What is said when there is nothing to show, or not yet. */
export function GalleryNotes() {
  return (
    <>
      <Specimen title="ErrorNote">
        <ErrorNote error={EXPLAINED} actions={<Button>Try again</Button>} />
        <ErrorNote error={new Error(LONG)} />
      </Specimen>
      <Specimen title="EmptyNote">
        <div className="w-full border border-line">
          <EmptyNote title="No step matches the filter.">
            <Button>Show all</Button>
          </EmptyNote>
        </div>
      </Specimen>
      <Specimen title="Spinner and Progress">
        <Spinner />
        <div className="flex w-40 flex-col gap-2">
          <Progress label="None" value={0} max={10} />
          <Progress label="Some" value={4} max={10} />
          <Progress label="All" value={10} max={10} />
        </div>
      </Specimen>
      <Specimen title="Facts">
        <Facts
          facts={[
            { label: 'model', value: 'a-model-1', isMono: true },
            { label: 'tokens', value: '1,204 in, 96 out' },
            { label: 'cost', value: '$0.0042', title: 'By the price list of this version' },
            { label: 'not known', value: undefined },
            { label: 'long', value: LONG },
          ]}
        />
      </Specimen>
    </>
  )
}
