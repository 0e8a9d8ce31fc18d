import type { SearchHit } from '../../model/run-parts.js'
import { tabOfField } from '../step/field/tab-of-field.js'

/** Where a hit is looked at: the tab of its step, and the field in it. */
export interface HitPlace {
  readonly tab?: string
  readonly field?: string
}

/** What belongs to no field, such as the error that ended a run, has no place. */
export function placeOfHit({ field, path, seq }: SearchHit): HitPlace {
  const whole = field === 'console' || field === 'file' ? `${field}.${seq}` : path
  if (whole === '') return {}
  const tab = tabOfField(whole)
  return { field: whole, ...(tab !== undefined && { tab }) }
}
