/** The result of `read`; `otherwise` if it throws. */
export function attempt<T>(read: () => T): T | undefined
export function attempt<T, F>(read: () => T, otherwise: F): T | F
export function attempt<T, F>(read: () => T, otherwise?: F): T | F | undefined {
  try {
    return read()
  } catch {
    return otherwise
  }
}
