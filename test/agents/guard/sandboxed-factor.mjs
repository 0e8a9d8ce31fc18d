export const factor = 2
