import crypto from 'node:crypto'
import fs from 'node:fs'
import zlib from 'node:zlib'

/**
 * System calls of the tape, captured when this module loads. A recorder patches these modules later
 * in the same process, and the tape must never be recorded onto itself.
 */
export const {
  closeSync,
  constants,
  existsSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  fsync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
  writeSync,
  writevSync,
} = fs

export const { createHash, createPublicKey, hash, randomBytes, sign, verify } = crypto
export const { crc32, deflateRawSync, gunzipSync, inflateRawSync } = zlib

export const monotonicMs: () => number = performance.now.bind(performance)
