import { PageFrame } from '../shell/page-frame.js'
import { GalleryBadges } from './gallery/gallery-badges.js'
import { GalleryButtons } from './gallery/gallery-buttons.js'
import { GalleryColours } from './gallery/gallery-colours.js'
import { GalleryFields } from './gallery/gallery-fields.js'
import { GalleryNotes } from './gallery/gallery-notes.js'
import { GalleryOverlays } from './gallery/gallery-overlays.js'

/** All components in all states, light and dark side by side, to look at when one of them changes. */
export function GalleryPage() {
  return (
    <PageFrame title="Components">
      <div className="grid h-full overflow-auto lg:grid-cols-2" tabIndex={-1}>
        {(['light', 'dark'] as const).map((theme) => (
          <section
            key={theme}
            data-theme={theme}
            aria-label={`${theme} theme`}
            className="flex min-w-0 flex-col gap-5 bg-surface p-4 text-text"
          >
            <h2 className="text-lg capitalize">{theme}</h2>
            <GalleryColours />
            <GalleryButtons />
            <GalleryBadges />
            <GalleryFields />
            <GalleryNotes />
            <GalleryOverlays />
          </section>
        ))}
      </div>
    </PageFrame>
  )
}
