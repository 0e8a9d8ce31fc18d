/** What a lane is called: as its agent, where one is known. */
export const laneName = (id: number, name: string | undefined): string =>
  name ?? (id === 0 ? 'main' : `lane ${id}`)
