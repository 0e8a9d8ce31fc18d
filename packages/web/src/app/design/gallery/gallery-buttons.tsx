import { Button } from '../button.js'
import { CopyButton } from '../copy-button.js'
import { IconButton } from '../icon-button.js'
import * as icons from '../icons.js'
import { Kbd } from '../kbd.js'
import { LONG, Specimen } from './specimen.js'

const LOOKS = ['primary', 'plain', 'quiet', 'danger'] as const
const FOCUSED = 'outline-2 outline-accent'

/** Buttons, their signs and keys. */
export function GalleryButtons() {
  return (
    <>
      <Specimen title="Button">
        {LOOKS.map((look) => (
          <Button key={look} look={look}>
            {look}
          </Button>
        ))}
        <Button>
          <icons.ForkIcon />
          with a sign
        </Button>
      </Specimen>
      <Specimen title="Button, disabled and with the focus">
        {LOOKS.map((look) => (
          <Button key={look} look={look} disabled>
            {look}
          </Button>
        ))}
        <Button className={FOCUSED}>focus</Button>
        <Button look="primary" className={`${FOCUSED} outline-offset-2`}>
          focus
        </Button>
        <Button className="max-w-60">
          <span className="truncate">{LONG}</span>
        </Button>
      </Specimen>
      <Specimen title="IconButton">
        <IconButton label="Search" icon={<icons.SearchIcon />} keys="/" />
        <IconButton label="Pressed" icon={<icons.FilterIcon />} isPressed />
        <IconButton label="Disabled" icon={<icons.PlayIcon />} disabled />
        <IconButton label="Focused" icon={<icons.PauseIcon />} className={FOCUSED} />
        <CopyButton text="copied" />
        <CopyButton text="copied" label="Copy as curl" showsLabel />
      </Specimen>
      <Specimen title="Icons">
        {Object.entries(icons).map(([name, Icon]) => (
          <span key={name} title={name}>
            <Icon />
          </span>
        ))}
      </Specimen>
      <Specimen title="Kbd">
        {['j', 'G', 'Mod+k', 'Shift+F10', 'ArrowUp', 'Escape', ' ', '+'].map((keys) => (
          <Kbd key={keys} keys={keys} />
        ))}
      </Specimen>
    </>
  )
}
