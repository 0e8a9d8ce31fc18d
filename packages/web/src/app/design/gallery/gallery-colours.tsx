import { classes } from '../classes.js'
import { Specimen } from './specimen.js'

const BACKGROUNDS = ['bg-surface', 'bg-raised', 'bg-sunken', 'bg-accent-soft'] as const
const TEXTS = [
  'text-text',
  'text-muted',
  'text-accent',
  'text-good',
  'text-warning',
  'text-danger',
  'text-kind-model',
  'text-kind-tool',
  'text-kind-http',
  'text-kind-mcp',
  'text-kind-process',
  'text-kind-mark',
] as const

/** Every colour of text on every background it may stand on. */
export function GalleryColours() {
  return (
    <Specimen title="Colours">
      <div className="grid w-full grid-cols-2 gap-px border border-line bg-line sm:grid-cols-4">
        {BACKGROUNDS.map((background) => (
          <div key={background} className={classes('flex flex-col p-2', background)}>
            {TEXTS.map((text) => (
              <span key={text} className={text}>
                {text.replace('text-', '')}
              </span>
            ))}
          </div>
        ))}
      </div>
      <p>
        A hit is <mark>marked</mark> in a text, and code is{' '}
        <code className="font-mono">monospace</code>:{' '}
        <span className="font-mono text-sm">0O 1lI {'{}'} [] () =&gt; !== &amp;&amp;</span>
      </p>
    </Specimen>
  )
}
