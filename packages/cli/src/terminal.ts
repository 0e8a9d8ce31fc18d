const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const

export type Style = keyof typeof CODES
export type Paint = (style: Style, text: string) => string

/** Paints text when the stream is a terminal that wants colours. */
export function painter(stream: NodeJS.WriteStream): Paint {
  const colours = stream.isTTY && stream.hasColors() && (process.env['NO_COLOR'] ?? '') === ''
  return (style, text) => (colours ? `\u001B[${CODES[style]}m${text}\u001B[0m` : text)
}

/** How wide text may be; 80 where nobody knows. */
export const widthOf = (stream: NodeJS.WriteStream): number => stream.columns || 80

/** How something is to be printed. */
export interface Look {
  readonly paint: Paint
  readonly width: number
}
