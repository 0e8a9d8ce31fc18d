import { Badge } from './badge.js'
import { Button } from './button.js'

/** All components in all states, to look at when one of them changes. */
export function GalleryPage() {
  return (
    <main className="flex flex-col gap-6 p-4">
      <h1 className="text-xl">Components</h1>
      <section className="flex gap-2" aria-label="Buttons">
        {(['primary', 'plain', 'quiet', 'danger'] as const).map((look) => (
          <Button key={look} look={look}>
            {look}
          </Button>
        ))}
        <Button disabled>disabled</Button>
      </section>
      <section className="flex gap-2" aria-label="Badges">
        {(['neutral', 'accent', 'good', 'warning', 'danger'] as const).map((tone) => (
          <Badge key={tone} tone={tone}>
            {tone}
          </Badge>
        ))}
      </section>
    </main>
  )
}
