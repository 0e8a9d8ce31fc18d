import { useState } from 'react'
import { Button } from '../button.js'
import { Dialog } from '../dialog.js'
import { Menu } from '../menu.js'
import { useRemembered } from '../remembered.js'
import { Splitter } from '../splitter.js'
import { Tabs } from '../tabs.js'
import { TextField } from '../text-field.js'
import { useToast } from '../toast.js'
import { Tooltip } from '../tooltip.js'
import { LONG, Specimen } from './specimen.js'

/** What moves, opens and appears. Overlays have the theme of the page. */
export function GalleryOverlays() {
  const [isOpen, setIsOpen] = useState(false)
  const [tab, setTab] = useState('chat')
  const [size, setSize] = useRemembered('gallery.split', 160)
  const toast = useToast()
  return (
    <>
      <Specimen title="Tabs">
        <div className="flex w-full flex-col border border-line">
          <Tabs
            label="Views"
            value={tab}
            onChange={setTab}
            tabs={['chat', 'request', 'response', 'state', 'a longer title'].map((value) => ({
              value,
              title: value,
              content: <p className="p-3">What {value} shows.</p>,
            }))}
          />
        </div>
      </Specimen>
      <Specimen title="Splitter">
        <div className="flex h-16 w-full border border-line">
          <div className="overflow-hidden p-2" style={{ width: size }}>
            {size} pixels
          </div>
          <Splitter
            label="Width of the left part"
            orientation="vertical"
            size={size}
            onSize={setSize}
            min={80}
            max={320}
          />
          <div className="flex-1 p-2 text-muted">the rest</div>
        </div>
      </Specimen>
      <Specimen title="Dialog, Menu, Tooltip, Toast">
        <Button onClick={() => setIsOpen(true)}>Open a dialog</Button>
        <Dialog
          title="Fork at step 3"
          description={LONG}
          isOpen={isOpen}
          onClose={() => setIsOpen(false)}
          footer={
            <>
              <Button onClick={() => setIsOpen(false)}>Cancel</Button>
              <Button look="primary" onClick={() => setIsOpen(false)}>
                Fork
              </Button>
            </>
          }
        >
          <TextField label="Name" value="" onChange={() => {}} />
        </Dialog>
        <Menu
          trigger={<Button>Open a menu</Button>}
          items={[
            { id: 'one', title: 'Copy as curl', keys: 'c', run: () => toast('Copied') },
            { id: 'two', title: 'Chosen', isChosen: true, run: () => {} },
            { id: 'three', title: 'Run again', disabled: 'The program is gone', run: () => {} },
          ]}
        />
        <Tooltip text={LONG}>
          <button type="button" className="underline">
            Point here
          </button>
        </Tooltip>
        <Button onClick={() => toast('Copied')}>Toast</Button>
        <Button
          onClick={() =>
            toast('The fork could not be started.', {
              tone: 'danger',
              action: { title: 'Show', run: () => {} },
            })
          }
        >
          Toast that stays
        </Button>
      </Specimen>
    </>
  )
}
