/**
 * Step accuracy on Who&When as the papers state it, in percent, on the full set of
 * 126 + 58 runs. All ask a language model about each run; none was measured here.
 */
export const PUBLISHED = [
  {
    name: 'Who&When, GPT-4o judge, best of three ways (arXiv 2505.00212)',
    pooled: '14.2',
    AG: '16.6',
    HC: '8.8',
  },
  { name: 'AgenTracer, trained 8B model (2509.03312)', pooled: '> 20' },
  { name: 'FAMAS, 20 runs of the task again (2509.13782)', AG: '23.8' },
  { name: 'CAR, resampling with a 3B model (2606.08275)', AG: '20.7' },
  { name: 'RAFFLES, iterated judge (2509.06822)', AG: '> 50', HC: '> 20' },
  { name: 'A2P, one prompt (2509.10401)', AG: '47.5', HC: '29.3' },
]
