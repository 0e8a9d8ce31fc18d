import { createHash } from 'node:crypto'
import type { Tape } from '@retake/tape'

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** That of something without a body, which has none on the tape. */
const EMPTY_SHA = sha256(new Uint8Array(0))

/** The hash by which bodies are compared without reading the recorded one. */
export const bodySha = (body: Uint8Array): string => (body.length === 0 ? EMPTY_SHA : sha256(body))

/** The same of the recorded body of an event. */
export const recordedSha = (tape: Tape, seq: number): string => tape.bodySha(seq) ?? EMPTY_SHA
