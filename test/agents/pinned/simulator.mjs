// Answers free steps of test/agents/fork/conversation.mjs, the same way for the same seed.
export default async ({ label, kind, request, recorded, seed }) => {
  if (seed === 13) throw new Error('the simulator is broken')
  if (kind === 'tool') return { payload: { ...recorded, heard: `simulated ${label} ${seed}` } }
  const asked = JSON.stringify(request).includes('round')
  const choices = [
    {
      ...recorded.choices[0],
      message: { role: 'assistant', content: `simulated ${label} ${asked}` },
    },
  ]
  return { payload: { ...recorded, choices } }
}
