interface Props {
  scale: readonly string[];
  from: string;
  to: string;
  middle?: string;
  label: string;
}

/** A scale with its numbers. */
export function Legend({ scale, from, to, middle, label }: Props) {
  return (
    <div className="legend" role="img" aria-label={`${label}: from ${from} to ${to}`}>
      <span className="small soft">{label}</span>
      <span className="small numbers">{from}</span>
      <svg viewBox={`0 0 ${scale.length} 1`} preserveAspectRatio="none" aria-hidden="true">
        {scale.map((colour, place) => (
          <rect shapeRendering="crispEdges" key={place} x={place} width={1.02} height={1} fill={colour} />
        ))}
      </svg>
      {middle && <span className="small numbers">{middle}</span>}
      <span className="small numbers">{to}</span>
    </div>
  );
}
