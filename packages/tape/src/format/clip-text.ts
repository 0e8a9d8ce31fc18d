/** A text that is not longer than `length`; where something was cut off, it ends in an ellipsis. */
export const clipText = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length - 1)}…` : text
