import type { FileDenialCode } from './file-denials.js'

/**
 * Forms of a path that mean a machine, a device or a stream somewhere, whatever they are
 * called with. None of them is a name that people give to files.
 */
export function forbiddenForm(text: string): FileDenialCode | undefined {
  if (text.includes('\0')) return 'PATH_NULL_BYTE'
  if (/^[\\/]{2}[.?][\\/]|^\\\?\?\\/.test(text)) return 'PATH_DEVICE'
  if (/^\\\\[\w.$-]{2,}(?:[\\/]|$)/.test(text)) return 'PATH_UNC'
  if (/:[^:\\/]*:\$[A-Z_]+$/i.test(text)) return 'PATH_STREAM'
  if (process.platform === 'win32') return forbiddenOnWindows(text)
  return /^[A-Za-z]:[\\/]/.test(text) ? 'PATH_DRIVE' : undefined
}

/** Names that Windows gives to devices, in every folder and with every extension. */
const WINDOWS_DEVICE = /(?:^|[\\/])(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:[.: ][^\\/]*)?$/i

function forbiddenOnWindows(text: string): FileDenialCode | undefined {
  if (/^[\\/]{2}[^\\/]/.test(text)) return 'PATH_UNC'
  if (WINDOWS_DEVICE.test(text)) return 'PATH_DEVICE'
  if (/:/.test(text.replace(/^[A-Za-z]:/, ''))) return 'PATH_STREAM'
  return /(?:^|[\\/])[^\\/]*[^\\/. ][. ]+(?:[\\/]|$)/.test(text) ? 'PATH_TRAILING' : undefined
}

/** Places of the system that look like files: devices, and the insides of processes. */
export const isDevicePlace = (absolute: string): boolean =>
  /^\/(?:dev|proc|sys)(?:\/|$)/.test(absolute)

/** Whether one of the names is `..`, with either separator. */
export const climbs = (text: string): boolean => /(?:^|[\\/])\.\.(?:[\\/]|$)/.test(text)
