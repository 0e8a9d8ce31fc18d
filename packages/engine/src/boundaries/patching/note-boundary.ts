import type { Consequence } from '@retake/tape/format'
import { siteField } from '../../kernel/call-site.js'
import type { Session } from '../../kernel/session.js'

export interface BoundaryNote {
  readonly name: string
  readonly text: string
  readonly consequence?: Consequence
}

/** Notes on the tape that something is not captured, with its call site. */
export function noteBoundary(session: Session, note: BoundaryNote): void {
  session.note({ kind: 'boundary', ...note, ...siteField() })
}
