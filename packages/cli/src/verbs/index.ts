import type { Verb } from '../verb.js'
import { record } from './record.js'
import { replay } from './replay.js'

export const verbs: readonly Verb[] = [record, replay]
